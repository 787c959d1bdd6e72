#include <limits>

#include "evaluate.h"

namespace attn::test {
namespace {

using graph::BatchNorm;
using graph::LayerNorm;
using graph::NormKind;

// Expected numbers: Keras 3.15 in float64.
const Tensor kX = wave({2, 3, 4}, 0);

TEST_CASE("layer_norm: the last axis is normalized, with gamma and beta") {
  check_near(result(LayerNorm{NormKind::layer, {2}, 1e-3}, {kX, wave({4}, 1), wave({4}, 2)}),
             {-0.465945250792, 0.481987389552,  0.386091039173,  -0.79210828548,  2.20277229382,    0.649014717993,
              -0.778437958775, -0.859297520998, -0.294174721033, 0.0430926927284, 0.178405637543,   -0.769408422593,
              2.02177655561,   0.93396681879,   -0.611999012109, -0.872547609858, -0.0978188779821, -0.192418795395,
              0.0195747441014, -0.759458736767, 1.76833392027,   1.17371384645,   -0.425952589109,  -0.881529344887});
}

TEST_CASE("layer_norm: two axes are normalized jointly, with gamma and beta of their sizes") {
  const auto y = result(LayerNorm{NormKind::layer, {1, 2}, 1e-3}, {kX, wave({3, 4}, 1), wave({3, 4}, 2)});
  CHECK(y[0] == doctest::Approx(0.740775891849));
  CHECK(y[11] == doctest::Approx(0.547496095535));
  CHECK(y[23] == doctest::Approx(-0.71346759752));
}

TEST_CASE("layer_norm: the deprecated rms form divides by the deviation without subtracting the mean") {
  const auto y = result(LayerNorm{NormKind::rms_layer, {2}, 1e-3, true, false}, {kX, wave({4}, 1)});
  CHECK(y[1] == doctest::Approx(1.67531671242));
  CHECK(y[23] == doctest::Approx(-0.0294207842969));
}

TEST_CASE("layer_norm: rms divides by the root mean square") {
  const auto y = result(LayerNorm{NormKind::rms, {2}, 1e-6, true, false}, {kX, wave({4}, 1)});
  CHECK(y[1] == doctest::Approx(0.875203650946));
  CHECK(y[23] == doctest::Approx(-0.022844768));
}

TEST_CASE("layer_norm: one element normalizes to beta, and an empty axis to nothing") {
  check_near(result(LayerNorm{NormKind::layer, {1}, 1e-3, false, true}, {wave({2, 1}, 0), tensor({1}, {3})}), {3, 3});
  check_near(result(LayerNorm{NormKind::layer, {1}, 1e-3, false, false}, {tensor({2, 0}, {})}), {});
}

TEST_CASE("layer_norm: a row far from zero keeps its precision") {
  const Tensor x = tensor({1, 4}, {1e8, 1e8 + 1, 1e8 + 2, 1e8 + 3});
  const double deviation = std::sqrt(1.25);
  check_near(result(LayerNorm{NormKind::layer, {1}, 0.0, false, false}, {x}),
             {-1.5 / deviation, -0.5 / deviation, 0.5 / deviation, 1.5 / deviation}, 1e-7);
}

TEST_CASE("batch_norm: stored statistics normalize along any axis") {
  Tensor gamma = wave({3}, 1), beta = wave({3}, 2), mean = wave({3}, 3), variance = wave({3}, 4);
  for (std::int64_t i = 0; i < 3; ++i) variance.set(i, variance.at(i) * variance.at(i));
  for (const int axis : {1, -2}) {
    const auto y = result(BatchNorm{axis, 1e-3}, {kX, mean, variance, gamma, beta});
    CHECK(y[0] == doctest::Approx(0.752526190831));
    CHECK(y[11] == doctest::Approx(1.4385685076));
    CHECK(y[23] == doctest::Approx(0.241861788739));
  }
}

}  // namespace
}  // namespace attn::test
