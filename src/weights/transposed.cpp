#include "transposed.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace attn::weights {
namespace {

/// Rows and columns of a tile. A row of it is a cache line of float32, so that lines are written as a whole. Writing
/// single elements is ten times slower if the distance of rows maps them to a few sets of the cache.
constexpr Dim kTile = 16;

/// Transposes a matrix (rows, columns).
template <typename Element>
void transpose(const Element* from, Element* to, Dim rows, Dim columns) {
  const Dim tiled_rows = rows / kTile * kTile, tiled_columns = columns / kTile * kTile;
  for (Dim column = 0; column < tiled_columns; column += kTile)
    for (Dim row = 0; row < tiled_rows; row += kTile) {
      std::array<std::array<Element, kTile>, kTile> tile;
      for (std::size_t i = 0; i < kTile; ++i)
        for (std::size_t j = 0; j < kTile; ++j)
          tile[j][i] = from[(row + static_cast<Dim>(i)) * columns + column + static_cast<Dim>(j)];
      for (std::size_t j = 0; j < kTile; ++j)
        std::copy(tile[j].begin(), tile[j].end(), to + (column + static_cast<Dim>(j)) * rows + row);
    }
  for (Dim i = 0; i < rows; ++i)
    for (Dim j = i < tiled_rows ? tiled_columns : 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

/// Transposes `count` matrices (rows, columns).
template <typename Element>
void transpose_all(const std::byte* from_bytes, std::byte* to_bytes, Dim count, Dim rows, Dim columns) {
  const auto* from = reinterpret_cast<const Element*>(from_bytes);
  auto* to = reinterpret_cast<Element*>(to_bytes);
  for (Dim matrix = 0; matrix < count; ++matrix)
    transpose(from + matrix * rows * columns, to + matrix * rows * columns, rows, columns);
}

}  // namespace

Tensor transposed(const Tensor& array, Shape shape, Dim count, Dim rows, Dim columns) {
  Tensor out(array.dtype(), std::move(shape));
  const auto transpose_bytes = bytes_of(array.dtype()) == 1   ? transpose_all<std::uint8_t>
                               : bytes_of(array.dtype()) == 2 ? transpose_all<std::uint16_t>
                               : bytes_of(array.dtype()) == 4 ? transpose_all<std::uint32_t>
                                                              : transpose_all<std::uint64_t>;
  transpose_bytes(array.data(), out.data(), count, rows, columns);
  return out;
}

}  // namespace attn::weights
