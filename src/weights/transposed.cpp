#include "transposed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace attn::weights {
namespace {

constexpr Dim kTile = 64;  // rows and columns of a tile that fits into the L1 cache

/// Transposes `count` matrices (rows, columns).
template <typename Element>
void transpose(const std::byte* from_bytes, std::byte* to_bytes, Dim count, Dim rows, Dim columns) {
  const auto* from = reinterpret_cast<const Element*>(from_bytes);
  auto* to = reinterpret_cast<Element*>(to_bytes);
  for (Dim matrix = 0; matrix < count; ++matrix, from += rows * columns, to += rows * columns)
    for (Dim row = 0; row < rows; row += kTile)
      for (Dim column = 0; column < columns; column += kTile)
        for (Dim i = row; i < std::min(row + kTile, rows); ++i)
          for (Dim j = column; j < std::min(column + kTile, columns); ++j) to[j * rows + i] = from[i * columns + j];
}

}  // namespace

Tensor transposed(const Tensor& array, Shape shape, Dim count, Dim rows, Dim columns) {
  Tensor out(array.dtype(), std::move(shape));
  const auto transpose_bytes = bytes_of(array.dtype()) == 1   ? transpose<std::uint8_t>
                               : bytes_of(array.dtype()) == 2 ? transpose<std::uint16_t>
                               : bytes_of(array.dtype()) == 4 ? transpose<std::uint32_t>
                                                              : transpose<std::uint64_t>;
  transpose_bytes(array.data(), out.data(), count, rows, columns);
  return out;
}

}  // namespace attn::weights
