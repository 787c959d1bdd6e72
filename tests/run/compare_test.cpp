// Compares results with expected values, and describes their differences.
#include "attn/run/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/run/difference.h"
#include "support.h"

namespace attn::run {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor doubles(const std::vector<double>& values) { return array(values, DType::float64); }

OutputComparison compared(const std::vector<double>& expected, const std::vector<double>& got,
                          const Tolerance& tolerance = {0, 0}) {
  return compare("x", doubles(expected), doubles(got), tolerance);
}

TEST_CASE("compare: an element may differ by atol plus rtol of the expected value") {
  CHECK(compared({100}, {101.1}, {0.01, 0.11}).pass);
  CHECK_FALSE(compared({100}, {101.2}, {0.01, 0.11}).pass);
  CHECK(compared({-100}, {-101}, {0.01, 0}).pass);
  // The tolerance is relative to the expected value, not to the larger one.
  CHECK_FALSE(compared({100}, {101.005}, {0.01, 0}).pass);
  CHECK(compared({101.005}, {100}, {0.01, 0}).pass);
}

TEST_CASE("compare: the suggested tolerance passes, and one percent less fails") {
  const std::vector<double> expected = {1, -20, 0.001, 300}, got = {1.02, -20.1, 0.004, 300.5};
  const Tolerance given{1e-4, 1e-3};
  const OutputComparison found = compared(expected, got, given);
  REQUIRE_FALSE(found.pass);
  CHECK(found.needed.atol == doctest::Approx(0.47).epsilon(0.01));  // 0.5 − 1e-4·300
  CHECK(compared(expected, got, {given.rtol, found.needed.atol}).pass);
  CHECK_FALSE(compared(expected, got, {given.rtol, found.needed.atol * 0.99}).pass);
  CHECK(found.needed.rtol == doctest::Approx(2).epsilon(0.01));  // (0.003 − 1e-3) / 0.001
  CHECK(compared(expected, got, {found.needed.rtol, given.atol}).pass);
  CHECK_FALSE(compared(expected, got, {found.needed.rtol * 0.99, given.atol}).pass);
  // For an expected 0, no relative tolerance suffices.
  CHECK(std::isinf(compared({0}, {1}).needed.rtol));
  CHECK(compared({0}, {1}).needed.atol == doctest::Approx(1).epsilon(0.02));
  CHECK(compared({1, 2}, {1, 2}).needed.atol == 0);
  CHECK(compared({1, 2}, {1, 2}).needed.rtol == 0);
}

TEST_CASE("compare: NaN equals NaN and is counted, and no tolerance accepts NaN or infinity beside a number") {
  const OutputComparison same = compared({kNaN, kInfinity, -kInfinity, 1}, {kNaN, kInfinity, -kInfinity, 1});
  CHECK(same.pass);
  CHECK(same.nan_pairs == 1);
  CHECK(same.unordered == 0);
  CHECK(same.max_abs_error == 0);
  for (const auto& row : {std::pair(kNaN, 1.0), std::pair(1.0, kNaN), std::pair(kInfinity, 1.0),
                          std::pair(1.0, -kInfinity), std::pair(kInfinity, -kInfinity), std::pair(kInfinity, kNaN)}) {
    const auto& a = row.first;
    const auto& b = row.second;
    CAPTURE(a);
    CAPTURE(b);
    const OutputComparison other = compared({5, a, 3}, {5, b, 3}, {10, 1e9});
    CHECK_FALSE(other.pass);
    CHECK(other.mismatches == 1);
    CHECK(other.unordered == 1);
    CHECK(other.worst_index == std::vector<std::int64_t>{1});
    CHECK(std::isinf(other.needed.atol));
    CHECK(std::isinf(other.needed.rtol));
  }
}

TEST_CASE("compare: the worst element is NaN, then infinity, then the one furthest beyond its tolerance") {
  CHECK(compared({1, 1, 1, 1}, {9, kInfinity, kNaN, 5}).worst_index == std::vector<std::int64_t>{2});
  CHECK(compared({1, 1, 1}, {9, kInfinity, 5}).worst_index == std::vector<std::int64_t>{1});
  // 100 may differ by 10.
  CHECK(compared({100, 1}, {105, 3}, {0.1, 0}).worst_index == std::vector<std::int64_t>{1});
  // If all agree, it is the one nearest to its tolerance.
  CHECK(compared({1, 1}, {1.1, 1.2}, {0, 1}).worst_index == std::vector<std::int64_t>{1});
}

TEST_CASE("difference: steps count neighbors of a dtype, also across zero") {
  CHECK(*steps_between(1, 1 + std::ldexp(1, -23), DType::float32) == 1);
  CHECK(*steps_between(1, 1 + std::ldexp(1, -52), DType::float64) == 1);
  CHECK(*steps_between(1, 1 + std::ldexp(1, -7), DType::bfloat16) == 1);
  CHECK(*steps_between(1, 1 + std::ldexp(1, -10), DType::float16) == 1);
  CHECK(*steps_between(0.5, 1, DType::float16) == 1024);
  CHECK(*steps_between(0.0, -0.0, DType::float32) == 0);
  const double least = std::numeric_limits<float>::denorm_min();
  CHECK(*steps_between(-least, least, DType::float32) == 2);
  CHECK(*steps_between(-1, 1, DType::float64) == 2 * (std::uint64_t{1023} << 52));
  // A difference that vanishes in the dtype's rounding does not count.
  CHECK(*steps_between(1, 1 + std::ldexp(1, -20), DType::bfloat16) == 0);
  CHECK_FALSE(steps_between(kNaN, 1, DType::float32).has_value());
  CHECK(most_steps(doubles({1, kNaN, kInfinity, 2}), doubles({1, 1, 1, 2 + std::ldexp(1, -21)}), DType::float32) == 2);
}

TEST_CASE("difference: the coarser of two dtypes is the floating-point one with larger steps") {
  CHECK(coarser(DType::float32, DType::bfloat16) == DType::bfloat16);
  CHECK(coarser(DType::float16, DType::float64) == DType::float16);
  CHECK(coarser(DType::float16, DType::bfloat16) == DType::bfloat16);
  CHECK(coarser(DType::int32, DType::float32) == DType::float32);
  CHECK(coarser(DType::float64, DType::boolean) == DType::float64);
}

TEST_CASE("difference: a histogram counts every element once, by powers of ten") {
  const Histogram found =
      histogram(doubles({0, 0, 0, 0, 0, kNaN, kNaN, 7}), doubles({0, 0.001, 0.0011, 0.5, 1, kNaN, 1, 7}));
  CHECK(found.equal == 3);
  CHECK(found.unordered == 1);
  REQUIRE(found.bins.size() == 4);
  CHECK(found.bins[0].from == doctest::Approx(1e-4));
  CHECK(found.bins[0].count == 1);  // 0.001 itself belongs to the bin that ends there
  CHECK(found.bins[1].count == 1);
  CHECK(found.bins[2].count == 0);
  CHECK(found.bins[3].to == 1);
  CHECK(found.bins[3].count == 2);
  CHECK(histogram(doubles({1}), doubles({1})).bins.empty());
}

TEST_CASE("difference: a histogram over many powers of ten keeps ten bins, the first from 0") {
  const Histogram found = histogram(doubles({0, 0, 0}), doubles({1e-30, 1e-20, 1}));
  REQUIRE(found.bins.size() == 10);
  CHECK(found.bins.front().from == 0);
  CHECK(found.bins.front().count == 2);
  CHECK(found.bins.back().count == 1);
}

}  // namespace
}  // namespace attn::run
