#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "kernels/walk.h"

namespace attn::test {
namespace {

using cuda::Axes;
using cuda::divide;

TEST_CASE("cuda walk: numbers are divided exactly on both sides of 32 bits") {
  constexpr std::int64_t k32 = std::int64_t{1} << 32;
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{3}, k32 - 1, k32, k32 + 1}) {
    for (const std::int64_t quotient : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, k32 / size, k32 / 2}) {
      for (const std::int64_t remainder : {std::int64_t{0}, size / 2, size - 1}) {
        if (quotient > 0 && size > (std::int64_t{1} << 62) / quotient) continue;
        const auto split = divide(quotient * size + remainder, size);
        CHECK(split.quotient == quotient);
        CHECK(split.remainder == remainder);
      }
    }
  }
}

TEST_CASE("cuda walk: offsets are exact where elements and strides pass 32 bits") {
  constexpr std::int64_t a = 5, b = (std::int64_t{1} << 31) + 7, c = 3;
  // The last axis steps backwards in the first operand, and the middle one has stride 0 in the second.
  const auto walk = cuda::walk_over<2>({{a, b, c}, {{b * c * 2, c, -1}, {c, 0, 1}}});
  REQUIRE(walk.has_value());
  CHECK(walk->count == a * b * c);
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{2}}) {
    for (const std::int64_t j : {std::int64_t{0}, b / 2, b - 1}) {
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{2}}) {
        const auto at = walk->at((i * b + j) * c + k);
        CHECK(at.of[0] == i * b * c * 2 + j * c - k);
        CHECK(at.of[1] == i * c + k);
      }
    }
  }
}

TEST_CASE("cuda walk: axes merge where all operands step through them as one, and not where one repeats") {
  const Axes dense = cuda::merged({{2, 1, 3, 4}, {{12, 12, 4, 1}, {24, 0, 8, 2}}});
  CHECK(dense.sizes == std::vector<Dim>{24});
  CHECK(dense.steps[1] == cuda::Steps{2});
  const Axes repeated = cuda::merged({{2, 3, 4}, {{12, 4, 1}, {4, 0, 1}}});
  CHECK(repeated.sizes == std::vector<Dim>{2, 3, 4});
  const Axes rows = cuda::merged({{2, 3, 4}, {{12, 4, 1}, {0, 0, 1}}});
  CHECK(rows.sizes == std::vector<Dim>{6, 4});
  CHECK(rows.steps[1] == cuda::Steps{0, 1});
  CHECK(cuda::merged({{1, 1}, {{1, 1}}}).sizes.empty());
}

TEST_CASE("cuda walk: a walk over no axes has one element, and one over an empty axis none") {
  CHECK(cuda::walk_over<1>({{}, {{}}})->count == 1);
  CHECK(cuda::walk_over<1>({{}, {{}}})->at(0).of[0] == 0);
  CHECK(cuda::walk_over<1>({{3, 0}, {{1, 1}}})->count == 0);
}

TEST_CASE("cuda walk: more than 16 axes that do not merge are rejected") {
  Axes axes{{}, {{}}};
  for (int axis = 0; axis < 17; ++axis) {
    axes.sizes.push_back(2);
    axes.steps[0].push_back(axis % 2);
  }
  CHECK(!cuda::walk_over<1>(axes).has_value());
}

}  // namespace
}  // namespace attn::test
