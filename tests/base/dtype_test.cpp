#include "attn/base/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace attn;

TEST_CASE("dtype: every name maps back to its dtype") {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(name_of(dtype));
    CHECK(dtype_of(name_of(dtype)) == dtype);
    CHECK_FALSE((is_floating(dtype) && is_integer(dtype)));
  }
  CHECK(name_of(DType::boolean) == "bool");
  CHECK(bytes_of(DType::bfloat16) == 2);
  CHECK(bytes_of(DType::uint64) == 8);
  CHECK_FALSE(dtype_of("float").has_value());
  CHECK_FALSE(is_integer(DType::boolean));
  CHECK(is_integer(DType::uint8));
  CHECK(is_floating(DType::bfloat16));
}

TEST_CASE("dtype: every 16-bit pattern survives the conversion to float and back") {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float half = float16_to_float(bits);
    const float bfloat = bfloat16_to_float(bits);
    // A signalling NaN becomes quiet, so only its being a NaN is checked.
    if (std::isnan(half) ? !std::isnan(float16_to_float(float_to_float16(half))) : float_to_float16(half) != bits) {
      FAIL("float16 pattern ", pattern);
    }
    if (std::isnan(bfloat) ? !std::isnan(bfloat16_to_float(float_to_bfloat16(bfloat)))
                           : float_to_bfloat16(bfloat) != bits) {
      FAIL("bfloat16 pattern ", pattern);
    }
    if (!std::isnan(half) && double_to_float16(half) != bits) FAIL("float16 pattern from double ", pattern);
    if (!std::isnan(bfloat) && double_to_bfloat16(bfloat) != bits) FAIL("bfloat16 pattern from double ", pattern);
  }
}

TEST_CASE("dtype: float16 rounds to nearest even, overflows at 65520 and has subnormals") {
  CHECK(float_to_float16(1.0F) == 0x3c00);
  CHECK(float_to_float16(65504.0F) == 0x7bff);
  CHECK(float_to_float16(65519.0F) == 0x7bff);
  CHECK(float_to_float16(65520.0F) == 0x7c00);
  CHECK(float_to_float16(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(float_to_float16(0x1p-24F) == 0x0001);
  CHECK(float_to_float16(0x1p-25F) == 0x0000);  // half of the smallest subnormal, a tie with even zero
  CHECK(float_to_float16(0x1.8p-24F) == 0x0002);
  CHECK(float_to_float16(1.0F + 0x1p-11F) == 0x3c00);
  CHECK(float_to_float16(1.0F + 0x3p-11F) == 0x3c02);
  CHECK(float_to_float16(-0.0F) == 0x8000);
  CHECK(float16_to_float(0x0001) == 0x1p-24F);
}

TEST_CASE("dtype: bfloat16 rounds to nearest even and keeps NaN with a payload in the dropped bits") {
  CHECK(float_to_bfloat16(1.0F) == 0x3f80);
  CHECK(float_to_bfloat16(1.0F + 0x1p-8F) == 0x3f80);
  CHECK(float_to_bfloat16(1.0F + 0x3p-8F) == 0x3f82);
  CHECK(float_to_bfloat16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7f800001U)))));
  CHECK(std::isnan(bfloat16_to_float(double_to_bfloat16(std::bit_cast<double>(0x7ff0000000000001U)))));
}

TEST_CASE("dtype: a double is rounded once, where two roundings would differ") {
  const double above_the_tie = 1.0 + 0x1p-8 + 0x1p-40;  // float rounds it onto the tie, which then falls to even
  CHECK(double_to_bfloat16(above_the_tie) == 0x3f81);
  CHECK(float_to_bfloat16(static_cast<float>(above_the_tie)) == 0x3f80);
  CHECK(double_to_float16(1.0 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(double_to_float16(1e300) == 0x7c00);
  CHECK(double_to_bfloat16(-1e-300) == 0x8000);
}
