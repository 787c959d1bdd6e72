#include "integer_panels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "attn/base/nibbles.h"
#include "isa.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kQuad = 4, kOctet = 8;    // depth rows in a 32-bit word of a column: of bytes, of nibbles
constexpr std::int64_t kWordBytes = kPanel * 4;  // bytes of one 32-bit word for each column of a panel
constexpr int kOffset = 128;                     // maps a signed byte to an unsigned one

using Bytes16 = std::uint8_t __attribute__((vector_size(kLanes)));

constexpr int kMagnitude = 0x7FFFFFFF;  // the bits of a float except its sign

/// Loads the numbers from x[i] on, and zeros beyond `size`.
[[gnu::always_inline]] inline void load_some(const float* x, std::int64_t i, std::int64_t size, Lanes& to) {
  if (i + kLanes <= size) return load(x + i, to);
  to = Lanes{};
  std::memcpy(&to, x + i, static_cast<std::size_t>(size - i) * sizeof(float));
}

/// Returns max |x|, or NaN if there is one. The bits of magnitudes have the same order as the numbers, with NaN above
/// infinity.
ATTN_VECTORIZED(float, find_largest, const float* x, std::int64_t size) {
  constexpr std::int64_t kChains = 4;  // independent dependency chains
  Integers largest[kChains] = {};
  const auto take = [&](const Lanes& numbers, Integers& most) __attribute__((always_inline)) {
    const Integers bits = reinterpret_cast<Integers>(numbers) & kMagnitude;
    most = bits > most ? bits : most;
  };
  std::int64_t i = 0;
  Lanes numbers;
  for (; i + kChains * kLanes <= size; i += kChains * kLanes) {
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < kChains; ++c) {
      load(x + i + c * kLanes, numbers);
      take(numbers, largest[c]);
    }
  }
  for (; i < size; i += kLanes) {
    load_some(x, i, size, numbers);
    take(numbers, largest[0]);
  }
  for (std::int64_t c = 1; c < kChains; ++c) largest[0] = largest[c] > largest[0] ? largest[c] : largest[0];
  int result = 0;
  for (int j = 0; j < kLanes; ++j) result = std::max(result, largest[0][j]);
  return std::bit_cast<float>(result);
}

constexpr float kRounds = 0x1.8p23F;  // adding it to a number below 2²² rounds to an integer

/// Computes x·scale, clamped to the range.
[[gnu::always_inline]] inline void scale_to_range(const Lanes& x, float scale, float low, float high, Lanes& to) {
  const Lanes product = x * scale;
  const Lanes least = product < low ? Lanes{} + low : product;
  to = least > high ? Lanes{} + high : least;
}

/// Computes x·scale rounded half to even, clamped to the range, plus 128. No product may be NaN.
ATTN_VECTORIZED(void, make_bytes, const float* x, std::int64_t size, float scale, float low, float high,
                std::uint8_t* q) {
  // The integer is in the low bits of the rounded sum. Conversion to bytes goes through 16 bits, because compilers
  // otherwise extract bytes one by one.
  const auto bytes_of_lanes = [=](const Lanes& numbers, Bytes16& bytes) __attribute__((always_inline)) {
    Lanes within;
    scale_to_range(numbers, scale, low, high, within);
    const auto bits = reinterpret_cast<Integers>(within + (kRounds + kOffset));
    bytes = __builtin_convertvector(__builtin_convertvector(bits, Halves), Bytes16);
  };
  Lanes numbers;
  Bytes16 bytes;
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    load(x + i, numbers);
    bytes_of_lanes(numbers, bytes);
    std::memcpy(q + i, &bytes, sizeof bytes);
  }
  if (i == size) return;
  load_some(x, i, size, numbers);
  bytes_of_lanes(numbers, bytes);
  std::memcpy(q + i, &bytes, static_cast<std::size_t>(size - i));
}

/// Computes x·scale rounded half to even, clamped to the range. No product may be NaN.
ATTN_VECTORIZED(void, make_floats, const float* x, std::int64_t size, float scale, float low, float high, float* q) {
  Lanes numbers;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    load_some(x, i, size, numbers);
    scale_to_range(numbers, scale, low, high, numbers);
    numbers = (numbers + kRounds) - kRounds;
    std::memcpy(q + i, &numbers, static_cast<std::size_t>(std::min<std::int64_t>(kLanes, size - i)) * sizeof(float));
  }
}

/// Computes x·scale rounded half to even, clamped to the range, plus `offset`. A product with the scale may be NaN; it
/// counts as 0.
void round_some(const float* x, std::int64_t size, float scale, const graph::IntegerRange& range, auto* q, int offset) {
  for (std::int64_t i = 0; i < size; ++i) {
    const float product = x[i] * scale;
    const float within = std::clamp(product, static_cast<float>(range.low), static_cast<float>(range.high));
    const int number = product == product ? static_cast<int>(std::nearbyint(within)) : 0;
    q[i] = static_cast<std::remove_reference_t<decltype(*q)>>(number + offset);
  }
}

float scale_for(const float* x, std::int64_t depth, const graph::IntegerRange& range) {
  return static_cast<float>(range.high) / (largest_of(x, depth) + static_cast<float>(range.epsilon));
}

/// Returns whether no product of the scale with a number of its row is NaN. An infinite number in the row makes the
/// scale 0, and 0·∞ is NaN.
bool is_plain(float scale) { return scale > 0.0F && scale <= std::numeric_limits<float>::max(); }

/// The number of depth rows that share a 32-bit word of a column.
template <bool kIsNibbles>
constexpr std::int64_t kRowsOfWord = kIsNibbles ? kOctet : kQuad;

/// Vectors of one register, because GCC 12 splits longer ones into single numbers.
template <typename Float, typename Integer>
struct Vectors {
  using Floats = Float;
  using Integers = Integer;
  static constexpr int kCount = kWordBytes / sizeof(Float);       // vectors for all columns of a panel
  static constexpr int kColumns = sizeof(Float) / sizeof(float);  // columns per vector
};
template <int kBytes>
struct Registers;
template <>
struct Registers<16> : Vectors<float __attribute__((vector_size(16))), int __attribute__((vector_size(16)))> {};
template <>
struct Registers<32> : Vectors<float __attribute__((vector_size(32))), int __attribute__((vector_size(32)))> {};
template <>
struct Registers<64> : Vectors<float __attribute__((vector_size(64))), int __attribute__((vector_size(64)))> {};

/// Converts the integers of a 32-bit word to floats. The lower half of a word has the integers of `kRowsOfHalf` rows.
/// With an exponent above the bits of row t, they are exactly the float 2^(23 - bits·t) + integer. The offset to
/// subtract is a constant for each t, so only the upper half needs a shift.
template <bool kIsNibbles>
struct Magic {
  static constexpr int kBits = kIsNibbles ? 4 : 8, kMask = (1 << kBits) - 1, kRowsOfHalf = 16 / kBits;
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr int shift(int t) { return kBits * t; }
  static constexpr int exponent(int t) { return (kBias + kMantissa - shift(t)) << kMantissa; }
  static constexpr float base(int t) { return static_cast<float>(1 << (kMantissa - shift(t))); }
};

/// The offset to subtract from a row's floats, by the row's position in half a word and by column. It includes the bias
/// that makes the integers unsigned. It also includes the zero points if these are integers, because the sum is then
/// exact in one float.
template <int kBytes, bool kIsNibbles, bool kIsWhole>
struct Origins {
  using Floats = typename Registers<kBytes>::Floats;
  static constexpr int kCount = kIsWhole ? Registers<kBytes>::kCount : 1;
  Floats of[Magic<kIsNibbles>::kRowsOfHalf][kCount];

  [[gnu::always_inline]] explicit Origins(const Floats* zero, float added) {
    for (int t = 0; t < Magic<kIsNibbles>::kRowsOfHalf; ++t)
      for (int v = 0; v < kCount; ++v)
        of[t][v] = (kIsWhole ? zero[v] + added : Floats{} + added) + Magic<kIsNibbles>::base(t);
  }
};

/// Converts row `row` of a word to floats, minus its zero point.
template <int kBytes, bool kIsNibbles, bool kIsWhole>
[[gnu::always_inline]] inline void take_row(const typename Registers<kBytes>::Integers& words, int row, int vector,
                                            const Origins<kBytes, kIsNibbles, kIsWhole>& origins,
                                            const typename Registers<kBytes>::Floats* zero,
                                            typename Registers<kBytes>::Floats& to) {
  using M = Magic<kIsNibbles>;
  using Floats = typename Registers<kBytes>::Floats;
  constexpr int kHalf = 16;
  const int t = row % M::kRowsOfHalf;
  const auto half = row < M::kRowsOfHalf ? words : words >> kHalf;
  to = reinterpret_cast<Floats>((half & (M::kMask << M::shift(t))) | M::exponent(t)) -
       origins.of[t][kIsWhole ? vector : 0];
  if constexpr (!kIsWhole) to -= zero[vector];
}

/// Loads vector by vector, because GCC copies a whole array through memory.
template <int kBytes>
[[gnu::always_inline]] inline void load_words(const std::uint8_t* from, typename Registers<kBytes>::Integers* words) {
#pragma GCC unroll 8
  for (int v = 0; v < Registers<kBytes>::kCount; ++v) std::memcpy(words + v, from + std::ptrdiff_t{v} * kBytes, kBytes);
}

/// Calls f(k, row, words) for the depth rows k from `begin` to `end` of a panel, in order. `words` has one 32-bit word
/// for each column, and `row` is the position of row k in it.
template <int kBytes, bool kIsNibbles, typename Function>
[[gnu::always_inline]] inline void each_row(const std::uint8_t* panel, std::int64_t begin, std::int64_t end,
                                            const Function& f) {
  constexpr std::int64_t kRows = kRowsOfWord<kIsNibbles>;
  typename Registers<kBytes>::Integers words[Registers<kBytes>::kCount];
  std::int64_t k = begin;
  // The rows of one word, with compile-time positions.
  const auto some = [&](std::int64_t until) __attribute__((always_inline)) {
    if (k >= until) return;
    const std::int64_t first = k / kRows * kRows;
    load_words<kBytes>(panel + first / kRows * kWordBytes, words);
#pragma GCC unroll 8
    for (int row = 0; row < static_cast<int>(kRows); ++row)
      if (first + row >= k && first + row < until) f(first + row, row, words);
    k = until;
  };
  some(std::min(end, (begin + kRows - 1) / kRows * kRows));
  for (; k + kRows <= end; k += kRows) {
    const std::uint8_t* const at = panel + k / kRows * kWordBytes;
    load_words<kBytes>(at, words);
#pragma GCC unroll 8
    for (int row = 0; row < static_cast<int>(kRows); ++row) f(k + row, row, words);
  }
  some(end);
}

/// Loads a number for each column of a group, or `missing`.
template <int kBytes>
[[gnu::always_inline]] inline void load_columns(const float* from, std::int64_t group, float missing,
                                                typename Registers<kBytes>::Floats* to) {
  for (int v = 0; v < Registers<kBytes>::kCount; ++v) {
    to[v] = typename Registers<kBytes>::Floats{} + missing;
    if (from != nullptr) std::memcpy(to + v, from + group * kPanel + v * Registers<kBytes>::kColumns, kBytes);
  }
}

template <int kBytes, bool kIsNibbles, bool kIsWhole, int kRows>
[[gnu::always_inline]] inline void multiply_some(const float* x, std::int64_t row_x, const std::uint8_t* panel,
                                                 const PanelGroups& groups, float added, float* y) {
  using Floats = typename Registers<kBytes>::Floats;
  using Words = typename Registers<kBytes>::Integers[Registers<kBytes>::kCount];
  constexpr int kCount = Registers<kBytes>::kCount;
  // With a single row in two registers, one accumulator would serialize the additions, so two are used.
  constexpr int kChains = kRows == 1 && kCount == 2 ? 2 : 1;
  Floats totals[kRows][kCount] = {};
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    Floats scale[kCount], zero[kCount], sums[kChains][kRows][kCount] = {};
    load_columns<kBytes>(groups.zero, g, 0.0F, zero);
    load_columns<kBytes>(groups.scale, g, 1.0F, scale);
    const Origins<kBytes, kIsNibbles, kIsWhole> origins(zero, added);
    each_row<kBytes, kIsNibbles>(
        panel, begin, groups.ends[g], [&](std::int64_t k, int row, const Words& words) __attribute__((always_inline)) {
#pragma GCC unroll 8
          for (int v = 0; v < kCount; ++v) {
            Floats weight;
            take_row<kBytes, kIsNibbles, kIsWhole>(words[v], row, v, origins, zero, weight);
#pragma GCC unroll 4
            for (int r = 0; r < kRows; ++r) sums[row % kChains][r][v] += x[r * row_x + k] * weight;
          }
        });
    begin = groups.ends[g];
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kCount; ++v)
        totals[r][v] += (kChains == 1 ? sums[0][r][v] : sums[0][r][v] + sums[kChains - 1][r][v]) * scale[v];
  }
  for (int r = 0; r < kRows; ++r) std::memcpy(y + r * kPanel, totals[r], sizeof totals[r]);
}

template <int kBytes, bool kIsNibbles, bool kIsWhole>
[[gnu::always_inline]] inline void multiply_few(const float* x, std::int64_t row_x, std::int64_t rows,
                                                const std::uint8_t* panel, const PanelGroups& groups, float added,
                                                float* y) {
  switch (rows) {
    case 1:
      return multiply_some<kBytes, kIsNibbles, kIsWhole, 1>(x, row_x, panel, groups, added, y);
    case 2:
      return multiply_some<kBytes, kIsNibbles, kIsWhole, 2>(x, row_x, panel, groups, added, y);
    case 3:
      return multiply_some<kBytes, kIsNibbles, kIsWhole, 3>(x, row_x, panel, groups, added, y);
    default:
      return multiply_some<kBytes, kIsNibbles, kIsWhole, 4>(x, row_x, panel, groups, added, y);
  }
}

template <int kBytes, bool kIsNibbles, bool kIsWhole>
[[gnu::always_inline]] inline void widen(const std::uint8_t* panel, const PanelGroups& groups, float added,
                                         float* wide) {
  using Floats = typename Registers<kBytes>::Floats;
  using Words = typename Registers<kBytes>::Integers[Registers<kBytes>::kCount];
  constexpr int kCount = Registers<kBytes>::kCount, kColumns = Registers<kBytes>::kColumns;
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    Floats scale[kCount], zero[kCount];
    load_columns<kBytes>(groups.zero, g, 0.0F, zero);
    load_columns<kBytes>(groups.scale, g, 1.0F, scale);
    const Origins<kBytes, kIsNibbles, kIsWhole> origins(zero, added);
    each_row<kBytes, kIsNibbles>(
        panel, begin, groups.ends[g], [&](std::int64_t k, int row, const Words& words) __attribute__((always_inline)) {
          for (int v = 0; v < kCount; ++v) {
            Floats weight;
            take_row<kBytes, kIsNibbles, kIsWhole>(words[v], row, v, origins, zero, weight);
            weight *= scale[v];
            std::memcpy(wide + k * kPanel + std::ptrdiff_t{v} * kColumns, &weight, kBytes);
          }
        });
    begin = groups.ends[g];
  }
}

/// The loops of multiply_integers() and widen_integers(), for each instruction set.
template <bool kIsNibbles, bool kIsWhole>
struct Loops {
  static void multiply(const float* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
                       const PanelGroups& groups, float added, float* y) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (isa() >= Isa::avx512) return multiply_avx512(x, row_x, rows, panel, groups, added, y);
    if (isa() >= Isa::avx2) return multiply_avx2(x, row_x, rows, panel, groups, added, y);
#endif
    multiply_few<kSmallest, kIsNibbles, kIsWhole>(x, row_x, rows, panel, groups, added, y);
  }
  static void widen_panel(const std::uint8_t* panel, const PanelGroups& groups, float added, float* wide) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (isa() >= Isa::avx512) return widen_avx512(panel, groups, added, wide);
    if (isa() >= Isa::avx2) return widen_avx2(panel, groups, added, wide);
#endif
    widen<kSmallest, kIsNibbles, kIsWhole>(panel, groups, added, wide);
  }

 private:
  static constexpr int kSmallest = 16;

#if defined(__x86_64__) && defined(__GNUC__)
#define ATTN_AVX512 [[gnu::target("arch=x86-64-v4")]]
#define ATTN_AVX2 [[gnu::target("arch=x86-64-v3")]]
  ATTN_AVX512 static void multiply_avx512(const float* x, std::int64_t row_x, std::int64_t rows,
                                          const std::uint8_t* panel, const PanelGroups& groups, float added, float* y) {
    multiply_few<64, kIsNibbles, kIsWhole>(x, row_x, rows, panel, groups, added, y);
  }
  ATTN_AVX2 static void multiply_avx2(const float* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
                                      const PanelGroups& groups, float added, float* y) {
    multiply_few<32, kIsNibbles, kIsWhole>(x, row_x, rows, panel, groups, added, y);
  }
  ATTN_AVX512 static void widen_avx512(const std::uint8_t* panel, const PanelGroups& groups, float added, float* wide) {
    widen<64, kIsNibbles, kIsWhole>(panel, groups, added, wide);
  }
  ATTN_AVX2 static void widen_avx2(const std::uint8_t* panel, const PanelGroups& groups, float added, float* wide) {
    widen<32, kIsNibbles, kIsWhole>(panel, groups, added, wide);
  }
#endif
};

}  // namespace

float largest_of(const float* x, std::int64_t size) { return find_largest(x, size); }

int added_to(IntegerForm form, bool is_signed) {
  constexpr int kOffsetOfNibble = 8;
  if (!is_signed || form == IntegerForm::quads) return 0;
  return form == IntegerForm::bytes ? kOffset : kOffsetOfNibble;
}

int StoredIntegers::at(std::int64_t k, std::int64_t m) const {
  if (pairs == graph::Pairs::none) {
    const std::uint8_t byte = bytes[transposed ? m * depth + k : k * width + m];
    return is_signed ? static_cast<std::int8_t>(byte) : byte;
  }
  const bool along_inputs = pairs == graph::Pairs::inputs;
  const std::int64_t inputs = along_inputs ? (depth + 1) / 2 : depth, outputs = along_inputs ? width : (width + 1) / 2;
  const std::int64_t row = along_inputs ? k / 2 : k, column = along_inputs ? m : m / 2;
  const std::uint8_t byte = bytes[transposed ? column * inputs + row : row * outputs + column];
  return nibble(byte, (along_inputs ? k : m) % 2 == 1, is_signed);
}

std::int64_t integer_panel_bytes(IntegerForm form, std::int64_t depth) {
  switch (form) {
    case IntegerForm::quads:
    case IntegerForm::bytes:
      return quads_of(depth) * kWordBytes;
    case IntegerForm::nibbles:
      break;
  }
  return (depth + kOctet - 1) / kOctet * kWordBytes;
}

void pack_integer_panel(IntegerForm form, const StoredIntegers& from, std::span<const std::int64_t> order,
                        std::int64_t column, std::byte* panel, std::int32_t* sums) {
  auto* const to = reinterpret_cast<std::uint8_t*>(panel);
  std::memset(panel, 0, static_cast<std::size_t>(integer_panel_bytes(form, from.depth)));
  std::fill_n(sums, kPanel, 0);
  const std::int64_t columns = std::min(kPanel, from.width - column);
  const int added = added_to(form, from.is_signed);
  for (std::int64_t k = 0; k < from.depth; ++k) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const int integer = from.at(order.empty() ? k : order[static_cast<std::size_t>(k)], column + j);
      sums[j] += integer;
      const auto byte = static_cast<std::uint8_t>(integer + added);
      switch (form) {
        case IntegerForm::quads:
        case IntegerForm::bytes:
          to[k / kQuad * kWordBytes + j * kQuad + k % kQuad] = byte;
          break;
        case IntegerForm::nibbles: {
          std::uint8_t& two = to[k / kOctet * kWordBytes + j * kQuad + k % kOctet / 2];
          two = static_cast<std::uint8_t>(two | (k % 2 == 0 ? byte & 0xF : (byte & 0xF) << 4));
          break;
        }
      }
    }
  }
}

float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, std::uint8_t* q) {
  const float scale = scale_for(x, depth, range);
  if (is_plain(scale)) {
    make_bytes(x, depth, scale, static_cast<float>(range.low), static_cast<float>(range.high), q);
  } else {
    round_some(x, depth, scale, range, q, kOffset);
  }
  std::fill(q + depth, q + quads_of(depth) * kQuad, static_cast<std::uint8_t>(kOffset));
  return scale;
}

float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, float* q) {
  const float scale = scale_for(x, depth, range);
  if (is_plain(scale)) {
    make_floats(x, depth, scale, static_cast<float>(range.low), static_cast<float>(range.high), q);
  } else {
    round_some(x, depth, scale, range, q, 0);
  }
  return scale;
}

void multiply_integers(IntegerForm form, bool is_signed, const float* x, std::int64_t row_x, std::int64_t rows,
                       const std::byte* panel, const PanelGroups& groups, float* y) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(panel);
  const bool is_nibbles = form == IntegerForm::nibbles;
  const auto loop = is_nibbles ? (groups.is_whole ? Loops<true, true>::multiply : Loops<true, false>::multiply)
                               : (groups.is_whole ? Loops<false, true>::multiply : Loops<false, false>::multiply);
  loop(x, row_x, rows, from, groups, static_cast<float>(added_to(form, is_signed)), y);
}

void widen_integers(IntegerForm form, bool is_signed, const std::byte* panel, const PanelGroups& groups, float* wide) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(panel);
  const bool is_nibbles = form == IntegerForm::nibbles;
  const auto loop = is_nibbles ? (groups.is_whole ? Loops<true, true>::widen_panel : Loops<true, false>::widen_panel)
                               : (groups.is_whole ? Loops<false, true>::widen_panel : Loops<false, false>::widen_panel);
  loop(from, groups, static_cast<float>(added_to(form, is_signed)), wide);
}

}  // namespace attn::backends::cpu
