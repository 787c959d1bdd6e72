#include "rows.h"

#include "attn/base/error.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {

std::string coordinates(std::int64_t i, const Shape& shape) {
  std::vector<Dim> result;
  for (const std::int64_t stride : strides_of(shape)) {
    result.push_back(i / stride);
    i %= stride;
  }
  return Shape(std::move(result)).str();
}

std::vector<Dim> rows_named_by(const Tensor& indices, Dim size) {
  std::vector<Dim> rows;
  const auto wanted = read<std::int64_t>(indices);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Dim row = wanted[i] < 0 ? wanted[i] + size : wanted[i];
    if (row < 0 || row >= size) {
      throw bad_input("index {} at {} is outside the table of {} entries", wanted[i],
                      coordinates(static_cast<std::int64_t>(i), indices.shape()), size);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace attn::backends::reference
