#include "attn/run/compare_weights.h"

#include <doctest/doctest.h>

#include <cmath>

namespace attn::run {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

NamedTensor array(const std::string& name, const std::vector<double>& values, DType dtype = DType::float32) {
  const Tensor tensor(dtype, {static_cast<Dim>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
  return {name, tensor};
}

PairedArray pair(const std::vector<double>& a, const std::vector<double>& b, const Tolerance& tolerance = {0, 0}) {
  return compare_weights({array("w", a)}, {array("w", b)}, tolerance).both.at(0);
}

TEST_CASE("compare_weights: NaN and infinity equal themselves, and do not count in the norms") {
  const PairedArray same = pair({1, kNaN, kInfinity, -2}, {1, kNaN, kInfinity, -2});
  CHECK(same.equal);
  CHECK(same.similarity.relative == 0);
  CHECK(same.similarity.cosine == doctest::Approx(1));
  const PairedArray other = pair({3, kNaN, 4}, {3, 0, 4});
  CHECK_FALSE(other.equal);
  CHECK(std::isnan(other.values->max_abs_error));
  CHECK(other.values->worst_index == std::vector<std::int64_t>{1});
  CHECK(other.similarity.relative == 0);
}

TEST_CASE("compare_weights: the relative difference is over the norm of a, and the cosine between both") {
  const PairedArray turned = pair({3, 4}, {-4, 3});
  CHECK(turned.similarity.cosine == doctest::Approx(0));
  CHECK(turned.similarity.relative == doctest::Approx(std::sqrt(2.0)));
  CHECK(pair({1, 2}, {-2, -4}).similarity.cosine == doctest::Approx(-1));
  CHECK(std::isnan(pair({0, 0}, {1, 1}).similarity.relative));
  CHECK(pair({0, 0}, {0, 0}).similarity.relative == 0);
  CHECK(std::isnan(pair({0, 0}, {0, 0}).similarity.cosine));
}

TEST_CASE("compare_weights: different dtypes differ unless a tolerance is given") {
  const std::vector<NamedTensor> a = {array("w", {1, 2})};
  const std::vector<NamedTensor> b = {array("w", {1, 2}, DType::bfloat16)};
  CHECK_FALSE(compare_weights(a, b, {0, 0}).equal());
  CHECK(compare_weights(a, b, {1e-6, 0}).equal());
}

TEST_CASE("compare_weights: different shapes are not compared, and unpaired arrays are named") {
  const auto result =
      compare_weights({array("w", {1, 2}), array("a", {1})}, {array("b", {1}), array("w", {1})}, {0, 0});
  CHECK_FALSE(result.both.at(0).values.has_value());
  CHECK(result.only_a.at(0).name == "a");
  CHECK(result.only_b.at(0).name == "b");
  CHECK_FALSE(result.equal());
}

TEST_CASE("compare_weights: progress counts numbers, also of unpaired arrays") {
  double seen = 0;
  const std::vector<NamedTensor> a = {array("w", {1, 2}), array("a", {1})};
  CHECK_FALSE(compare_weights(a, {array("w", {1, 2})}, {0, 0}, [&](double more) { seen += more; }).equal());
  CHECK(seen == 3);
}

}  // namespace
}  // namespace attn::run
