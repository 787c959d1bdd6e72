#include "attn/weights/stats.h"

#include <cmath>
#include <limits>

#include "support.h"

namespace attn::weights {
namespace {

Tensor tensor_of(DType dtype, std::initializer_list<double> values) {
  Tensor out(dtype, {static_cast<Dim>(values.size())});
  std::int64_t i = 0;
  for (const double value : values) out.set(i++, value);
  return out;
}

TEST_CASE("stats: count, extremes, mean, deviation and zeros are computed") {
  for (const DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::int8}) {
    const TensorStats stats = stats_of(tensor_of(dtype, {-1.0, 0.0, 0.0, 5.0}));
    CHECK(stats == TensorStats{4, -1.0, 5.0, 1.0, std::sqrt(22.0 / 4.0), 0, 0, 2});
  }
}

TEST_CASE("stats: a small deviation is exact beside a large mean") {
  const TensorStats stats = stats_of(tensor_of(DType::float64, {1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0}));
  CHECK(stats.stddev == doctest::Approx(std::sqrt(2.0 / 3.0)).epsilon(1e-12));
}

TEST_CASE("stats: NaN and infinities are counted and excluded") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TensorStats stats = stats_of(tensor_of(DType::float32, {nan, 2.0, infinity, -infinity, 4.0}));
  CHECK(stats == TensorStats{5, 2.0, 4.0, 3.0, 1.0, 1, 2, 0});
}

TEST_CASE("stats: arrays without finite numbers have NaN statistics") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Tensor& tensor : {tensor_of(DType::float32, {}), tensor_of(DType::float32, {nan})}) {
    const TensorStats stats = stats_of(tensor);
    for (const double number : {stats.min, stats.max, stats.mean, stats.stddev}) CHECK(std::isnan(number));
  }
}

}  // namespace
}  // namespace attn::weights
