#include "amx_pack.h"

#include <algorithm>
#include <bit>

#include "tile_parts.h"

namespace attn::backends::cpu {
namespace {

/// Returns the next part of x in the upper 16 bits, and replaces x by the remainder.
[[gnu::always_inline]] inline std::uint32_t take_part(float& x) {
  constexpr std::uint32_t kUpper = 0xFFFF0000, kExponent = 0x7F800000, kQuiet = 0x400000;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & kUpper;
  const std::uint32_t finite = (nearest & kExponent) == kExponent ? bits & kUpper : nearest;
  const bool is_nan = (bits & ~(1U << 31)) > kExponent, is_special = (bits & kExponent) == kExponent;
  const std::uint32_t special = is_nan ? (bits & kUpper) | kQuiet : bits;
  const std::uint32_t part = is_special ? special : finite;
  x = is_special ? 0.0F : x - std::bit_cast<float>(part);
  return part;
}

/// Splits 32 numbers into parts at to[part·kTilePart + i].
[[gnu::always_inline]] inline void split_any(const float* x, int parts, Bfloat16* to) {
  float rest[kTileDepth];
  std::memcpy(rest, x, sizeof rest);
  for (int part = 0; part < parts; ++part, to += kTilePart)
    for (std::int64_t i = 0; i < kTileDepth; ++i) to[i] = static_cast<Bfloat16>(take_part(rest[i]) >> 16);
}

/// Updates the bits of the largest magnitude so far.
[[gnu::always_inline]] inline void find_largest(const Lanes& x, Integers& largest) {
  const Integers magnitude = reinterpret_cast<Integers>(x) & 0x7FFFFFFF;
  largest = magnitude > largest ? magnitude : largest;
}

/// Returns whether rounding to bfloat16 may give infinity or NaN for any number, given the bits of the largest
/// magnitude.
[[gnu::always_inline]] inline bool is_any_large(const Integers& largest) {
  constexpr int kLeastLarge = 0x7F000000;  // 2¹²⁷
  return any_of(largest >= kLeastLarge);
}

/// Splits 32 numbers as split_any does; the result is wrong for large numbers, so `largest` is updated.
[[gnu::always_inline]] inline void split(const float* x, int parts, Bfloat16* to, Integers& largest) {
  Lanes first, second;
  load(x, first);
  load(x + kLanes, second);
  find_largest(first, largest);
  find_largest(second, largest);
  for (int part = 0; part < parts; ++part) take_nearest(first, second, to + part * kTilePart);
}

/// Returns the numbers of a row at `step`; at the end of the row, a copy that is padded with zeros.
template <typename Number>
[[gnu::always_inline]] inline const Number* step_of(const Number* row, std::int64_t depth, std::int64_t step,
                                                    Number* padded) {
  const std::int64_t first = step * kTileDepth, count = std::min(kTileDepth, depth - first);
  if (count == kTileDepth) return row + first;
  std::memset(padded, 0, kTileDepth * sizeof(Number));
  std::memcpy(padded, row + first, static_cast<std::size_t>(count) * sizeof(Number));
  return padded;
}

/// Calls f(row, step) for the rows of a tile, with a few consecutive steps for each row. Reads are then contiguous, and
/// writes stay close together.
template <typename Function>
[[gnu::always_inline]] inline void for_each_step(std::int64_t rows, std::int64_t depth, Function f) {
  constexpr std::int64_t kRun = 4;
  const std::int64_t steps = tile_steps(depth);
  for (std::int64_t first = 0; first < steps; first += kRun) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t step = first; step < std::min(first + kRun, steps); ++step) f(r, step);
  }
}

/// Splits rows of one tile into parts.
ATTN_VECTORIZED(void, split_rows, const float* x, std::int64_t stride, std::int64_t rows, std::int64_t depth, int parts,
                Bfloat16* to) {
  float padded[kTileDepth];
  Integers largest{};
  for_each_step(
      rows, depth, [&](std::int64_t r, std::int64_t step) __attribute__((always_inline)) {
        split(step_of(x + r * stride, depth, step, padded), parts, to + step * parts * kTilePart + r * kTileDepth,
              largest);
      });
  if (!is_any_large(largest)) return;
  for_each_step(
      rows, depth, [&](std::int64_t r, std::int64_t step) __attribute__((always_inline)) {
        split_any(step_of(x + r * stride, depth, step, padded), parts, to + step * parts * kTilePart + r * kTileDepth);
      });
}

/// Copies bfloat16 rows, which need no splitting.
ATTN_VECTORIZED(void, copy_rows, const Bfloat16* x, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                Bfloat16* to) {
  Bfloat16 padded[kTileDepth];
  for_each_step(
      rows, depth, [&](std::int64_t r, std::int64_t step) __attribute__((always_inline)) {
        std::memcpy(to + step * kTilePart + r * kTileDepth, step_of(x + r * stride, depth, step, padded),
                    kTileDepth * sizeof(Bfloat16));
      });
}

/// Splits two rows of w, 16 columns each, into parts as pairs: to[part·kTilePart + 2·j + (0 or 1)]. The even row comes
/// first, because numbers are little-endian.
[[gnu::always_inline]] inline void split_pairs(const Lanes& even_row, const Lanes& odd_row, int parts, Bfloat16* to) {
  Lanes even = even_row, odd = odd_row;
  const Integers upper = Integers{} + static_cast<int>(0xFFFF0000);
  for (int part = 0; part < parts; ++part, to += kTilePart) {
    const Integers first = (reinterpret_cast<Integers>(even) + 0x8000) & upper;
    const Integers second = (reinterpret_cast<Integers>(odd) + 0x8000) & upper;
    even -= reinterpret_cast<Lanes>(first);
    odd -= reinterpret_cast<Lanes>(second);
    const Integers pairs = ((first >> 16) & 0xFFFF) | second;
    std::memcpy(to, &pairs, sizeof pairs);
  }
}

[[gnu::always_inline]] inline void split_any_pairs(const Lanes& even, const Lanes& odd, int parts, Bfloat16* to) {
  float first[kLanes], second[kLanes];
  store(even, first);
  store(odd, second);
  for (int part = 0; part < parts; ++part, to += kTilePart) {
    std::uint32_t pairs[kLanes];
    for (int j = 0; j < kLanes; ++j) pairs[j] = take_part(first[j]) >> 16 | take_part(second[j]);
    std::memcpy(to, pairs, sizeof pairs);
  }
}

/// Splits columns into parts. `kAny` supports numbers of any magnitude; without it the function returns false if a
/// number is large.
template <bool kAny, typename Number>
[[gnu::always_inline]] inline bool split_columns(const Number* w, std::int64_t depth, std::int64_t width,
                                                 std::int64_t stride, int parts, Bfloat16* block) {
  Integers largest{};
  for (std::int64_t k = 0; k < tile_steps(depth) * kTileDepth; k += 2) {
    Bfloat16* const to = block + k / kTileDepth * parts * kTilePart + k % kTileDepth / 2 * kTileDepth;
    for (std::int64_t v = 0; v < 2; ++v) {
      Lanes even{}, odd{};
      const std::int64_t first = v * kLanes;
      if (first < width && k < depth) load_some(w + k * stride + first, width - first, even);
      if (first < width && k + 1 < depth) load_some(w + (k + 1) * stride + first, width - first, odd);
      if (kAny) {
        split_any_pairs(even, odd, parts, to + v * kTileNumbers);
      } else {
        find_largest(even, largest);
        find_largest(odd, largest);
        split_pairs(even, odd, parts, to + v * kTileNumbers);
      }
    }
  }
  return !is_any_large(largest);
}

template <typename Number>
[[gnu::always_inline]] inline void split_all_columns(const void* w, std::int64_t depth, std::int64_t width,
                                                     std::int64_t stride, int parts, Bfloat16* block) {
  const auto* const numbers = static_cast<const Number*>(w);
  if (!split_columns<false>(numbers, depth, width, stride, parts, block))
    split_columns<true>(numbers, depth, width, stride, parts, block);
}

ATTN_VECTORIZED(void, pack_columns, DType dtype, const void* w, std::int64_t depth, std::int64_t width,
                std::int64_t stride, int parts, Bfloat16* block) {
  if (dtype == DType::float32) {
    split_all_columns<float>(w, depth, width, stride, parts, block);
  } else {
    split_all_columns<Bfloat16>(w, depth, width, stride, parts, block);
  }
}

/// Transposes tiles of pairs of numbers.
ATTN_VECTORIZED(void, transpose_tiles, Bfloat16* tiles, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    auto* const tile = reinterpret_cast<float*>(tiles + i * kTileNumbers);
    Lanes rows[kLanes];
    for (std::int64_t r = 0; r < kLanes; ++r) load(tile + r * kLanes, rows[r]);
    transpose(rows);
    for (std::int64_t r = 0; r < kLanes; ++r) store(rows[r], tile + r * kLanes);
  }
}

ATTN_VECTORIZED(void, multiply_row, const Bfloat16* x, const Bfloat16* w, std::int64_t steps, int parts, float* y) {
  float sums[kTileBlock] = {};
  for (std::int64_t step = 0; step < steps; ++step) {
    const Bfloat16* const x_step = x + step * parts * kTilePart;
    const Bfloat16* const w_step = w + step * parts * kTilePart;
    for (std::int64_t k = 0; k < kTileDepth; ++k) {
      float factor = 0.0F, numbers[kTileBlock] = {};
      for (int part = 0; part < parts; ++part) {
        const std::int64_t at = part * kTilePart;
        factor += std::bit_cast<float>(static_cast<std::uint32_t>(x_step[at + k]) << 16);
        const Bfloat16* const row = w_step + at + k / 2 * kTileDepth + k % 2;
        for (std::int64_t j = 0; j < kTileBlock; ++j) {
          const Bfloat16 number = row[j / kTileRows * kTileNumbers + j % kTileRows * 2];
          numbers[j] += std::bit_cast<float>(static_cast<std::uint32_t>(number) << 16);
        }
      }
      for (std::int64_t j = 0; j < kTileBlock; ++j) sums[j] += factor * numbers[j];
    }
  }
  for (std::int64_t j = 0; j < kTileBlock; ++j) y[j] = sums[j];
}

}  // namespace

void pack_tile_rows(DType dtype, const void* x, std::int64_t stride, std::int64_t first, std::int64_t rows,
                    std::int64_t depth, int parts, Bfloat16* block) {
  for (std::int64_t i = first; i < first + rows;) {
    const std::int64_t last = std::min(first + rows, (i / kTileRows + 1) * kTileRows);
    Bfloat16* const to = block + i / kTileRows * kTileNumbers + i % kTileRows * kTileDepth;
    if (dtype == DType::float32) {
      split_rows(static_cast<const float*>(x) + (i - first) * stride, stride, last - i, depth, parts, to);
    } else {
      copy_rows(static_cast<const Bfloat16*>(x) + (i - first) * stride, stride, last - i, depth, to);
    }
    i = last;
  }
}

void pack_tile_columns(DType dtype, const void* w, std::int64_t depth, std::int64_t width, std::int64_t stride,
                       int parts, Bfloat16* block) {
  pack_columns(dtype, w, depth, width, stride, parts, block);
}

void transpose_tile_block(std::int64_t depth, int parts, Bfloat16* block) {
  transpose_tiles(block, tile_block_size(depth, parts) / kTileNumbers);
}

void multiply_tile_row(const Bfloat16* x, std::int64_t row, const Bfloat16* w, std::int64_t depth, int parts,
                       float* y) {
  multiply_row(x + row / kTileRows * kTileNumbers + row % kTileRows * kTileDepth, w, tile_steps(depth), parts, y);
}

}  // namespace attn::backends::cpu
