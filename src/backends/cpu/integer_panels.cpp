#include "integer_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attn/base/nibbles.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kQuad = 4, kOctet = 8;    // rows of the depth in 32 bits
constexpr std::int64_t kWordBytes = kPanel * 4;  // 32 bits of all columns
constexpr int kOffset = 128;                     // makes a byte with a sign one without

using Bytes16 = std::uint8_t __attribute__((vector_size(kLanes)));

/// Numbers x[i], …, of which there are `size`; zeros behind the last.
[[gnu::always_inline]] inline void load_some(const float* x, std::int64_t i, std::int64_t size, Lanes& to) {
  if (i + kLanes <= size) return load(x + i, to);
  to = Lanes{};
  std::memcpy(&to, x + i, static_cast<std::size_t>(size - i) * sizeof(float));
}

/// max |x|, or NaN where one is.
ATTN_VECTORIZED(float, find_largest, const float* x, std::int64_t size) {
  Lanes largest{}, numbers;
  Integers has_nan{};
  for (std::int64_t i = 0; i < size; i += kLanes) {
    load_some(x, i, size, numbers);
    const Lanes magnitude = numbers < 0.0F ? -numbers : numbers;
    has_nan |= magnitude != magnitude;
    largest = magnitude > largest ? magnitude : largest;
  }
  float result = 0.0F;
  for (int j = 0; j < kLanes; ++j) {
    if (has_nan[j] != 0) return std::numeric_limits<float>::quiet_NaN();
    result = std::max(result, largest[j]);
  }
  return result;
}

/// The whole numbers for x·scale, rounded half to even, within the range; 0 for NaN.
[[gnu::always_inline]] inline void round_to_range(const Lanes& x, float scale, float low, float high, Lanes& to) {
  constexpr float kRounds = 0x1.8p23F;  // to which, and from which, numbers of less than 2²² are added as whole ones
  const Lanes product = x * scale;
  Lanes within = product < low ? Lanes{} + low : product;
  within = within > high ? Lanes{} + high : within;
  within = (within + kRounds) - kRounds;
  to = product == product ? within : Lanes{};
}

ATTN_VECTORIZED(void, make_bytes, const float* x, std::int64_t size, float scale, float low, float high,
                std::uint8_t* q) {
  Lanes numbers;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    load_some(x, i, size, numbers);
    round_to_range(numbers, scale, low, high, numbers);
    // By way of 16 bits, as compilers take bytes one by one otherwise.
    const Integers integers = __builtin_convertvector(numbers, Integers) + kOffset;
    const Bytes16 bytes = __builtin_convertvector(__builtin_convertvector(integers, Halves), Bytes16);
    std::memcpy(q + i, &bytes, static_cast<std::size_t>(std::min<std::int64_t>(kLanes, size - i)));
  }
}

ATTN_VECTORIZED(void, make_floats, const float* x, std::int64_t size, float scale, float low, float high, float* q) {
  Lanes numbers;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    load_some(x, i, size, numbers);
    round_to_range(numbers, scale, low, high, numbers);
    std::memcpy(q + i, &numbers, static_cast<std::size_t>(std::min<std::int64_t>(kLanes, size - i)) * sizeof(float));
  }
}

float scale_for(const float* x, std::int64_t depth, const graph::IntegerRange& range) {
  return static_cast<float>(range.high) / (find_largest(x, depth) + static_cast<float>(range.epsilon));
}

/// Rows of the depth beside each other in the 32 bits of a column.
template <bool kIsNibbles>
constexpr std::int64_t kRowsOfWord = kIsNibbles ? kOctet : kQuad;

/// The two vectors of columns of one word.
struct Words {
  Integers left, right;
};

[[gnu::always_inline]] inline void load_words(const std::uint8_t* panel, std::int64_t word, Words& to) {
  std::memcpy(&to, panel + word * kWordBytes, sizeof to);
}

/// Row `row` of those in a word, as floats.
template <bool kIsNibbles, bool kIsSigned>
[[gnu::always_inline]] inline void take_row(const Integers& words, int row, Lanes& to) {
  constexpr int kWord = 32, kBits = kIsNibbles ? 4 : 8, kMask = (1 << kBits) - 1;
  if constexpr (kIsSigned) {
    to = __builtin_convertvector((words << (kWord - kBits - kBits * row)) >> (kWord - kBits), Lanes);
  } else {
    to = __builtin_convertvector((words >> (kBits * row)) & kMask, Lanes);
  }
}

/// f(k, row, left, right) for rows k from `begin` to `end` of a panel, in order, as floats. `row` is that of its word.
template <bool kIsNibbles, bool kIsSigned, typename Function>
[[gnu::always_inline]] inline void each_row(const std::uint8_t* panel, std::int64_t begin, std::int64_t end,
                                            const Function& f) {
  constexpr std::int64_t kRows = kRowsOfWord<kIsNibbles>, kAhead = 8 * kWordBytes;
  Words words;
  Lanes left, right;
  std::int64_t k = begin;
  const auto one = [&](int row) __attribute__((always_inline)) {
    take_row<kIsNibbles, kIsSigned>(words.left, row, left);
    take_row<kIsNibbles, kIsSigned>(words.right, row, right);
    f(k++, row, left, right);
  };
  const auto some = [&](std::int64_t until) __attribute__((always_inline)) {
    while (k < until) {
      load_words(panel, k / kRows, words);
      one(static_cast<int>(k % kRows));
    }
  };
  some(std::min(end, (begin + kRows - 1) / kRows * kRows));
  while (k + kRows <= end) {
    const std::uint8_t* const at = panel + k / kRows * kWordBytes;
    __builtin_prefetch(at + kAhead);
    __builtin_prefetch(at + kAhead + kWordBytes / 2);
    load_words(at, 0, words);
#pragma GCC unroll 8
    for (int row = 0; row < static_cast<int>(kRows); ++row) one(row);
  }
  some(end);
}

/// A number for each column of a group, or `missing`.
[[gnu::always_inline]] inline void load_columns(const float* from, std::int64_t group, float missing, Lanes& left,
                                                Lanes& right) {
  left = right = Lanes{} + missing;
  if (from == nullptr) return;
  load(from + group * kPanel, left);
  load(from + group * kPanel + kLanes, right);
}

template <bool kIsNibbles, bool kIsSigned, int kRows>
[[gnu::always_inline]] inline void multiply_some(const float* x, std::int64_t row_x, const std::uint8_t* panel,
                                                 const PanelGroups& groups, float* y) {
  // A sum of one row alone would wait for itself.
  constexpr int kChains = kRows == 1 ? 2 : 1;
  Lanes totals[kRows][2] = {};
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    Lanes scale[2], zero[2], sums[kChains][kRows][2] = {};
    load_columns(groups.zero, g, 0.0F, zero[0], zero[1]);
    load_columns(groups.scale, g, 1.0F, scale[0], scale[1]);
    each_row<kIsNibbles, kIsSigned>(
        panel, begin, groups.ends[g],
        [&](std::int64_t k, int row, const Lanes& left, const Lanes& right) __attribute__((always_inline)) {
          Lanes(&to)[kRows][2] = sums[row % kChains];
          for (int r = 0; r < kRows; ++r) {
            to[r][0] += x[r * row_x + k] * (left - zero[0]);
            to[r][1] += x[r * row_x + k] * (right - zero[1]);
          }
        });
    begin = groups.ends[g];
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < 2; ++v)
        totals[r][v] += (kChains == 1 ? sums[0][r][v] : sums[0][r][v] + sums[kChains - 1][r][v]) * scale[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    store(totals[r][0], y + r * kPanel);
    store(totals[r][1], y + r * kPanel + kLanes);
  }
}

template <bool kIsNibbles, bool kIsSigned>
[[gnu::always_inline]] inline void multiply_few(const float* x, std::int64_t row_x, std::int64_t rows,
                                                const std::uint8_t* panel, const PanelGroups& groups, float* y) {
  switch (rows) {
    case 1:
      return multiply_some<kIsNibbles, kIsSigned, 1>(x, row_x, panel, groups, y);
    case 2:
      return multiply_some<kIsNibbles, kIsSigned, 2>(x, row_x, panel, groups, y);
    case 3:
      return multiply_some<kIsNibbles, kIsSigned, 3>(x, row_x, panel, groups, y);
    default:
      return multiply_some<kIsNibbles, kIsSigned, 4>(x, row_x, panel, groups, y);
  }
}

template <bool kIsNibbles, bool kIsSigned>
[[gnu::always_inline]] inline void widen(const std::uint8_t* panel, const PanelGroups& groups, float* wide) {
  std::int64_t begin = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    Lanes scale[2], zero[2];
    load_columns(groups.zero, g, 0.0F, zero[0], zero[1]);
    load_columns(groups.scale, g, 1.0F, scale[0], scale[1]);
    each_row<kIsNibbles, kIsSigned>(
        panel, begin, groups.ends[g],
        [&](std::int64_t k, int /*row*/, const Lanes& left, const Lanes& right) __attribute__((always_inline)) {
          store((left - zero[0]) * scale[0], wide + k * kPanel);
          store((right - zero[1]) * scale[1], wide + k * kPanel + kLanes);
        });
    begin = groups.ends[g];
  }
}

ATTN_VECTORIZED(void, multiply_signed_nibbles, const float* x, std::int64_t row_x, std::int64_t rows,
                const std::uint8_t* panel, const PanelGroups& groups, float* y) {
  multiply_few<true, true>(x, row_x, rows, panel, groups, y);
}
ATTN_VECTORIZED(void, multiply_unsigned_nibbles, const float* x, std::int64_t row_x, std::int64_t rows,
                const std::uint8_t* panel, const PanelGroups& groups, float* y) {
  multiply_few<true, false>(x, row_x, rows, panel, groups, y);
}
ATTN_VECTORIZED(void, multiply_signed_bytes, const float* x, std::int64_t row_x, std::int64_t rows,
                const std::uint8_t* panel, const PanelGroups& groups, float* y) {
  multiply_few<false, true>(x, row_x, rows, panel, groups, y);
}
ATTN_VECTORIZED(void, multiply_unsigned_bytes, const float* x, std::int64_t row_x, std::int64_t rows,
                const std::uint8_t* panel, const PanelGroups& groups, float* y) {
  multiply_few<false, false>(x, row_x, rows, panel, groups, y);
}
ATTN_VECTORIZED(void, widen_signed_nibbles, const std::uint8_t* panel, const PanelGroups& groups, float* wide) {
  widen<true, true>(panel, groups, wide);
}
ATTN_VECTORIZED(void, widen_unsigned_nibbles, const std::uint8_t* panel, const PanelGroups& groups, float* wide) {
  widen<true, false>(panel, groups, wide);
}
ATTN_VECTORIZED(void, widen_signed_bytes, const std::uint8_t* panel, const PanelGroups& groups, float* wide) {
  widen<false, true>(panel, groups, wide);
}
ATTN_VECTORIZED(void, widen_unsigned_bytes, const std::uint8_t* panel, const PanelGroups& groups, float* wide) {
  widen<false, false>(panel, groups, wide);
}

}  // namespace

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
  for (std::int64_t k = 0; k < from.depth; ++k) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const int integer = from.at(order.empty() ? k : order[static_cast<std::size_t>(k)], column + j);
      sums[j] += integer;
      const auto byte = static_cast<std::uint8_t>(integer);
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
  make_bytes(x, depth, scale, static_cast<float>(range.low), static_cast<float>(range.high), q);
  std::fill(q + depth, q + quads_of(depth) * kQuad, static_cast<std::uint8_t>(kOffset));
  return scale;
}

float quantize_row(const float* x, std::int64_t depth, const graph::IntegerRange& range, float* q) {
  const float scale = scale_for(x, depth, range);
  make_floats(x, depth, scale, static_cast<float>(range.low), static_cast<float>(range.high), q);
  return scale;
}

void multiply_integers(IntegerForm form, bool is_signed, const float* x, std::int64_t row_x, std::int64_t rows,
                       const std::byte* panel, const PanelGroups& groups, float* y) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(panel);
  if (form == IntegerForm::nibbles)
    return (is_signed ? multiply_signed_nibbles : multiply_unsigned_nibbles)(x, row_x, rows, from, groups, y);
  return (is_signed ? multiply_signed_bytes : multiply_unsigned_bytes)(x, row_x, rows, from, groups, y);
}

void widen_integers(IntegerForm form, bool is_signed, const std::byte* panel, const PanelGroups& groups, float* wide) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(panel);
  if (form == IntegerForm::nibbles)
    return (is_signed ? widen_signed_nibbles : widen_unsigned_nibbles)(from, groups, wide);
  return (is_signed ? widen_signed_bytes : widen_unsigned_bytes)(from, groups, wide);
}

}  // namespace attn::backends::cpu
