#include "attn/train/data.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/rng.h"

namespace attn::train {

Data::Data(std::map<std::string, Tensor> arrays) : arrays_(std::move(arrays)) {
  if (!arrays_.empty()) rows_ = arrays_.begin()->second.shape()[0];
}

Batch Data::gather(std::span<const std::int64_t> rows) const {
  Batch out;
  for (const auto& [name, array] : arrays_) {
    Shape shape = array.shape();
    shape[0] = static_cast<Dim>(rows.size());
    const Tensor batch(array.dtype(), shape);
    const std::int64_t bytes = rows_ == 0 ? 0 : array.bytes() / rows_;
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(batch.data() + static_cast<std::int64_t>(i) * bytes, array.data() + rows[i] * bytes,
                  static_cast<std::size_t>(bytes));
    out.emplace(name, batch);
  }
  return out;
}

std::vector<std::int64_t> permutation(std::uint64_t seed, std::int64_t epoch, std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  RandomStream stream(seed, fmt::format("shuffle:{}", epoch));
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<std::size_t>(stream.uniform() * static_cast<double>(i + 1))]);
  return order;
}

}  // namespace attn::train
