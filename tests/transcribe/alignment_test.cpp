// Places of tokens, as transformers 5.24 finds them (WhisperGenerationMixin._extract_token_timestamps).
#include "alignment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

using attn::Dim;
using attn::DType;
using attn::Tensor;
using attn::transcribe::aligned;

namespace {

Tensor hundredths(std::span<const std::int64_t> values, const attn::Shape& shape) {
  Tensor out(DType::float32, shape);
  std::ranges::transform(values, out.as<float>().begin(), [](auto x) { return static_cast<float>(x) / 100.0F; });
  return out;
}

}  // namespace

TEST_CASE("alignment: places of random probabilities equal those of transformers") {
  constexpr std::array<std::int64_t, 72> kHundredths{
      9,  24, 80, 58, 9,  43, 48, 16, 73, 11, 39, 52, 43, 59, 74, 96, 28, 65, 70, 29, 0,  97, 30, 31,
      89, 59, 47, 77, 3,  71, 37, 9,  66, 93, 21, 63, 30, 74, 72, 22, 83, 66, 68, 82, 43, 76, 88, 10,
      85, 39, 48, 15, 70, 29, 87, 28, 56, 40, 61, 20, 18, 75, 75, 57, 92, 21, 85, 17, 96, 62, 61, 97};
  CHECK(aligned(hundredths(kHundredths, {2, 4, 9})) == std::vector<Dim>{0, 0, 3, 3});
}

TEST_CASE("alignment: tokens that attend to one part of the sound each begin there") {
  constexpr Dim kTokens = 3, kEach = 20;
  std::vector<std::int64_t> values;
  for (Dim token = 0; token < kTokens; ++token)
    for (Dim at = 0; at < kTokens * kEach; ++at) values.push_back(at / kEach == token ? 90 : 5);
  CHECK(aligned(hundredths(values, {1, kTokens, kTokens * kEach})) == std::vector<Dim>{0, kEach, 2 * kEach});
}

TEST_CASE("alignment: equal probabilities, one token and one position are no errors") {
  const auto equal = [](Dim tokens, Dim positions) {
    return aligned(hundredths(std::vector<std::int64_t>(static_cast<std::size_t>(tokens * positions), 50),
                              {1, tokens, positions}));
  };
  CHECK(equal(1, 1) == std::vector<Dim>{0});
  CHECK(equal(1, 12) == std::vector<Dim>{0});
  CHECK(equal(4, 1) == std::vector<Dim>{0, 0, 0, 0});
  CHECK(equal(3, 5).size() == 3);
}
