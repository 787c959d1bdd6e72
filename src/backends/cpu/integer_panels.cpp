#include "integer_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attn/base/nibbles.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kQuad = 4;
constexpr std::int64_t kQuadBytes = kPanel * kQuad;  // of all columns
constexpr int kOffset = 128;                         // makes a byte with a sign one without

using Bytes16 = std::uint8_t __attribute__((vector_size(kLanes)));
using SignedBytes16 = std::int8_t __attribute__((vector_size(kLanes)));

/// max(max |x|, 0), or NaN where one is.
[[gnu::always_inline]] inline float largest_magnitude(const float* x, std::int64_t size) {
  float largest = 0.0F;
  bool has_nan = false;
  for (std::int64_t i = 0; i < size; ++i) {
    const float magnitude = std::abs(x[i]);
    has_nan |= !(magnitude == magnitude);
    largest = magnitude > largest ? magnitude : largest;
  }
  return has_nan ? std::numeric_limits<float>::quiet_NaN() : largest;
}

/// The whole number for x·scale, rounded half to even, within the range; 0 for NaN.
[[gnu::always_inline]] inline float whole(float x, float scale, float low, float high) {
  const float product = x * scale;
  float integer = std::nearbyint(product);
  integer = integer < low ? low : integer;
  integer = integer > high ? high : integer;
  return product == product ? integer : 0.0F;
}

ATTN_VECTORIZED(float, find_largest, const float* x, std::int64_t size) { return largest_magnitude(x, size); }

ATTN_VECTORIZED(void, make_bytes, const float* x, std::int64_t size, float scale, float low, float high,
                std::uint8_t* q) {
  for (std::int64_t i = 0; i < size; ++i)
    q[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(whole(x[i], scale, low, high)) + kOffset);
}

ATTN_VECTORIZED(void, make_floats, const float* x, std::int64_t size, float scale, float low, float high, float* q) {
  for (std::int64_t i = 0; i < size; ++i) q[i] = whole(x[i], scale, low, high);
}

float scale_for(const float* x, std::int64_t depth, const graph::IntegerRange& range) {
  return static_cast<float>(range.high) / (find_largest(x, depth) + static_cast<float>(range.epsilon));
}

/// The two vectors of columns of a row of a panel, as floats.
template <bool kIsSigned>
[[gnu::always_inline]] inline void load_nibbles(const std::uint8_t* from, Lanes& left, Lanes& right) {
  constexpr int kHigh = 28, kMiddle = 24, kBits = 4;
  Bytes16 bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  const Integers pairs = __builtin_convertvector(bytes, Integers);
  if constexpr (kIsSigned) {
    left = __builtin_convertvector((pairs << kHigh) >> kHigh, Lanes);
    right = __builtin_convertvector((pairs << kMiddle) >> kHigh, Lanes);
  } else {
    left = __builtin_convertvector(pairs & 0xF, Lanes);
    right = __builtin_convertvector(pairs >> kBits, Lanes);
  }
}

template <bool kIsSigned>
[[gnu::always_inline]] inline void load_bytes(const std::uint8_t* from, Lanes& left, Lanes& right) {
  const auto load_half = [](const std::uint8_t* half, Lanes& to) __attribute__((always_inline)) {
    if constexpr (kIsSigned) {
      SignedBytes16 bytes;
      std::memcpy(&bytes, half, sizeof bytes);
      to = __builtin_convertvector(__builtin_convertvector(bytes, Integers), Lanes);
    } else {
      Bytes16 bytes;
      std::memcpy(&bytes, half, sizeof bytes);
      to = __builtin_convertvector(__builtin_convertvector(bytes, Integers), Lanes);
    }
  };
  load_half(from, left);
  load_half(from + kLanes, right);
}

template <bool kIsNibbles, bool kIsSigned>
[[gnu::always_inline]] inline void load_row(const std::uint8_t* panel, std::int64_t k, Lanes& left, Lanes& right) {
  if constexpr (kIsNibbles) {
    load_nibbles<kIsSigned>(panel + k * kPanel / 2, left, right);
  } else {
    load_bytes<kIsSigned>(panel + k * kPanel, left, right);
  }
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
  constexpr std::int64_t kAhead = 32;  // rows of the panel
  Lanes totals[kRows][2] = {};
  std::int64_t k = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    Lanes scale[2], zero[2], left, right, sums[kRows][2] = {};
    load_columns(groups.zero, g, 0.0F, zero[0], zero[1]);
    load_columns(groups.scale, g, 1.0F, scale[0], scale[1]);
    for (; k < groups.ends[g]; ++k) {
      __builtin_prefetch(panel + (k + kAhead) * (kIsNibbles ? kPanel / 2 : kPanel));
      load_row<kIsNibbles, kIsSigned>(panel, k, left, right);
      left -= zero[0];
      right -= zero[1];
      for (int r = 0; r < kRows; ++r) {
        sums[r][0] += x[r * row_x + k] * left;
        sums[r][1] += x[r * row_x + k] * right;
      }
    }
    for (int r = 0; r < kRows; ++r) {
      totals[r][0] += sums[r][0] * scale[0];
      totals[r][1] += sums[r][1] * scale[1];
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
  std::int64_t k = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    Lanes scale[2], zero[2], left, right;
    load_columns(groups.zero, g, 0.0F, zero[0], zero[1]);
    load_columns(groups.scale, g, 1.0F, scale[0], scale[1]);
    for (; k < groups.ends[g]; ++k) {
      load_row<kIsNibbles, kIsSigned>(panel, k, left, right);
      store((left - zero[0]) * scale[0], wide + k * kPanel);
      store((right - zero[1]) * scale[1], wide + k * kPanel + kLanes);
    }
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
      return quads_of(depth) * kQuadBytes;
    case IntegerForm::bytes:
      return depth * kPanel;
    case IntegerForm::nibbles:
      break;
  }
  return depth * kPanel / 2;
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
          to[k / kQuad * kQuadBytes + j * kQuad + k % kQuad] = byte;
          break;
        case IntegerForm::bytes:
          to[k * kPanel + j] = byte;
          break;
        case IntegerForm::nibbles: {
          std::uint8_t& two = to[k * kPanel / 2 + j % kLanes];
          two = static_cast<std::uint8_t>(two | (j < kLanes ? byte & 0xF : (byte & 0xF) << 4));
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
