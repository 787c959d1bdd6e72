#include "operations/convert.h"

#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <numeric>
#include <vector>

namespace attn::backends::cpu {
namespace {

TEST_CASE("convert: every half-precision number is widened exactly") {
  std::vector<std::uint16_t> halves(1 << 16);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  std::vector<float> wide(halves.size());
  for (const DType half : {DType::float16, DType::bfloat16}) {
    widen(half, halves.data(), wide.data(), static_cast<std::int64_t>(halves.size()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const float expected = half == DType::float16 ? float16_to_float(halves[i]) : bfloat16_to_float(halves[i]);
      wrong += std::bit_cast<std::uint32_t>(wide[i]) != std::bit_cast<std::uint32_t>(expected);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("convert: float32 rounds to the nearest half-precision number, ties to even, at every number and tie") {
  for (const DType half : {DType::float16, DType::bfloat16}) {
    const bool is_float16 = half == DType::float16;
    std::vector<float> numbers;
    for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
      const auto narrow_bits = static_cast<std::uint16_t>(bits);
      const float number = is_float16 ? float16_to_float(narrow_bits) : bfloat16_to_float(narrow_bits);
      // Half of the distance to the next number, also for subnormal ones.
      const auto wide_bits = std::bit_cast<std::uint32_t>(number);
      for (const std::uint32_t step : {0U, is_float16 ? 0x1000U : 0x8000U, 0x400000U}) {
        for (const std::uint32_t beside : {0U, 1U, ~0U})
          numbers.push_back(std::bit_cast<float>(wide_bits + step + beside));
      }
      numbers.push_back(number + 0x1p-25F);
      numbers.push_back(number - 0x1p-25F);
    }
    numbers.insert(numbers.end(), {65519.996F, 65520.0F, 65536.0F, std::numeric_limits<float>::max(),
                                   std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min()});
    std::vector<std::uint16_t> halves(numbers.size());
    narrow(half, numbers.data(), halves.data(), static_cast<std::int64_t>(numbers.size()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      wrong += halves[i] != (is_float16 ? float_to_float16(numbers[i]) : float_to_bfloat16(numbers[i]));
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace attn::backends::cpu
