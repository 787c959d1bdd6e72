#include "attn/base/dtype.h"

#include <array>
#include <bit>
#include <cstddef>

namespace attn {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
};

/// The rows have the order of the enum.
constexpr std::array<Row, 13> kRows{{
    {DType::float64, "float64", 8},
    {DType::float32, "float32", 4},
    {DType::float16, "float16", 2},
    {DType::bfloat16, "bfloat16", 2},
    {DType::int64, "int64", 8},
    {DType::int32, "int32", 4},
    {DType::int16, "int16", 2},
    {DType::int8, "int8", 1},
    {DType::uint64, "uint64", 8},
    {DType::uint32, "uint32", 4},
    {DType::uint16, "uint16", 2},
    {DType::uint8, "uint8", 1},
    {DType::boolean, "bool", 1},
}};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

/// Rounds a double to nearest even into an IEEE-like 16-bit format with this many exponent and mantissa bits.
template <int kExponentBits, int kMantissaBits>
std::uint16_t narrow(double value) noexcept {
  static_assert(1 + kExponentBits + kMantissaBits == 16);
  constexpr int kDoubleMantissa = 52;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1U << kExponentBits) - 1) << kMantissaBits;

  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << 15;
  const int exponent = static_cast<int>((bits >> kDoubleMantissa) & 0x7ff);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << kDoubleMantissa) - 1);
  if (exponent == 0x7ff) {
    if (mantissa == 0) return static_cast<std::uint16_t>(sign | kInfinity);
    const std::uint32_t quiet = 1U << (kMantissaBits - 1);
    const auto payload = static_cast<std::uint32_t>(mantissa >> (kDoubleMantissa - kMantissaBits));
    return static_cast<std::uint16_t>(sign | kInfinity | quiet | payload);
  }

  int target = exponent - 1023 + kBias;
  int shift = kDoubleMantissa - kMantissaBits;
  if (target <= 0) {  // subnormal in the target: one exponent, fewer bits
    shift += 1 - target;
    target = 1;
  }
  if (shift > kDoubleMantissa + 1) return static_cast<std::uint16_t>(sign);  // below half of the smallest subnormal
  const std::uint64_t full = mantissa | (std::uint64_t{1} << kDoubleMantissa);
  const std::uint64_t rest = full & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  std::uint64_t kept = full >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // The implicit leading bit of `kept` adds one to the exponent field, and so does a carry out of the mantissa.
  const std::uint64_t magnitude = (static_cast<std::uint64_t>(target - 1) << kMantissaBits) + kept;
  return static_cast<std::uint16_t>(sign | (magnitude < kInfinity ? magnitude : kInfinity));
}

}  // namespace

std::string_view name_of(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> dtype_of(std::string_view name) noexcept {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::int64_t bytes_of(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].bytes; }

bool is_floating(DType dtype) noexcept { return dtype <= DType::bfloat16; }

bool is_integer(DType dtype) noexcept { return dtype >= DType::int64 && dtype <= DType::uint8; }

bool is_signed(DType dtype) noexcept { return dtype >= DType::int64 && dtype <= DType::int8; }

float bfloat16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN, made quiet
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float float16_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 127 - 15) << 23) | (mantissa << 13));
}

std::uint16_t float_to_float16(float value) noexcept { return double_to_float16(value); }
std::uint16_t double_to_bfloat16(double value) noexcept { return narrow<8, 7>(value); }
std::uint16_t double_to_float16(double value) noexcept { return narrow<5, 10>(value); }

}  // namespace attn
