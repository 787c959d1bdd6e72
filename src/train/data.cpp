#include "attn/train/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/whole_number.h"

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

Tensor class_weights(const Tensor& targets, const std::map<std::int64_t, double>& weights) {
  const Shape& shape = targets.shape();
  if (shape.rank() < 1 || shape.rank() > 2)
    throw bad_input("targets {} have more than one class in a row, so class_weight does not apply; use sample_weight",
                    shape.str());
  const std::int64_t rows = shape[0], columns = shape.rank() == 2 ? shape[1] : 1;
  Tensor out(DType::float32, {rows});
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t largest = 0;
    for (std::int64_t i = 1; i < columns; ++i)
      if (targets.at(row * columns + i) > targets.at(row * columns + largest)) largest = i;
    const std::optional<std::int64_t> own = columns > 1 ? largest : whole_number(std::nearbyint(targets.at(row)));
    const auto found = own ? weights.find(*own) : weights.end();
    out.set(row, found == weights.end() ? 1.0 : found->second);
  }
  return out;
}

namespace {

RandomStream stream_of(std::uint64_t seed, std::int64_t epoch) { return {seed, fmt::format("shuffle:{}", epoch)}; }

/// Returns the numbers `first` … `first + count − 1` in a random order drawn from the stream.
std::vector<std::int64_t> shuffled(RandomStream& stream, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), first);
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<std::size_t>(stream.uniform() * static_cast<double>(i + 1))]);
  return order;
}

}  // namespace

std::vector<std::int64_t> permutation(std::uint64_t seed, std::int64_t epoch, std::int64_t rows) {
  RandomStream stream = stream_of(seed, epoch);
  return shuffled(stream, 0, rows);
}

std::vector<std::int64_t> permutation_of_blocks(std::uint64_t seed, std::int64_t epoch, std::int64_t rows,
                                                std::int64_t block) {
  RandomStream stream = stream_of(seed, epoch);
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(rows));
  for (const std::int64_t number : shuffled(stream, 0, rows / block + (rows % block > 0 ? 1 : 0))) {
    const std::int64_t first = number * block;
    for (const std::int64_t row : shuffled(stream, first, std::min(block, rows - first))) order.push_back(row);
  }
  return order;
}

}  // namespace attn::train
