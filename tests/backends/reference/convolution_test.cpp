#include <limits>

#include "evaluate.h"

namespace attn::test {
namespace {

using graph::Conv;
using graph::Padding;
using graph::Pool;

// Expected numbers: Keras 3.15 in float64.
const Tensor kLine = wave({1, 5, 2}, 0);
const Tensor kPlane = wave({1, 4, 3, 1}, 0);

TEST_CASE("conv: convolution over one axis can be causal and dilated") {
  const Conv op{{1}, {2}, Padding::causal, 1, true};
  check_near(result(op, {kLine, wave({2, 2, 2}, 1), wave({2}, 2)}),
             {0.340160311738, 0.186521919905, -0.456264100422, -0.858660749328, 1.44937868742, 0.257855535829,
              3.72282377443, 2.65981619074, 1.32563023578, 1.35578586745});
}

TEST_CASE("conv: groups, strides and same padding are right") {
  const Conv op{{2}, {1}, Padding::same, 2, true};
  check_near(result(op, {kLine, wave({2, 1, 2}, 1), wave({2}, 2)}),
             {1.57493243572, 1.10212070822, 0.602462892111, 0.0386694667949, 0.378104867379, 0.444053633671});
}

TEST_CASE("conv: convolution over two and three axes has an activation") {
  const double inf = std::numeric_limits<double>::infinity();
  const Conv strided{{2, 2}, {1, 1}, Padding::same, 1, true, {graph::UnaryFn::relu, 0, 0, inf}};
  check_near(result(strided, {kPlane, wave({3, 2, 1, 2}, 1), wave({2}, 2)}),
             {0, 0, 1.75648859837, 1.21066460354, 0, 0, 0, 0});
  const Conv dense{{1, 1}, {1, 1}, Padding::valid, 1, true};
  check_near(result(dense, {kPlane, wave({2, 2, 1, 1}, 1), wave({1}, 2)}),
             {2.145140611, 2.64031010061, 1.33829064934, 0.153461801001, -0.759696871915, -0.0585539041268});
  const Conv solid{{1, 1, 1}, {1, 1, 1}, Padding::valid};
  check_near(result(solid, {wave({1, 3, 2, 2, 1}, 0), wave({2, 2, 1, 1, 1}, 1)}),
             {1.16726728307, 1.12031265957, -0.981507647543, -1.21699173148});
}

TEST_CASE("conv: an empty batch gives an empty result") {
  const Conv op{{1}, {1}, Padding::same};
  check_near(result(op, {tensor({0, 5, 2}, {}), wave({2, 2, 2}, 1)}), {});
}

TEST_CASE("pool: maximum and average count only cells inside the input") {
  const Pool maximum{false, {2, 2}, {2, 2}, Padding::same};
  check_near(result(maximum, {kPlane}), {0.863209366649, 0.985449729988, 0.656986598719, 0.988168233877});
  const Pool average{true, {2, 2}, {2, 2}, Padding::same};
  check_near(result(average, {kPlane}), {0.460603801011, 0.317333251149, -0.295056971459, 0.178450798002});
  const Pool line{true, {3}, {1}, Padding::valid};
  check_near(result(line, {kLine}),
             {0.440145960048, 0.385547942066, 0.149620702577, -0.156675491222, -0.389284753377, -0.438807313277});
}

TEST_CASE("pool: NaN stays NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check_near(result(Pool{false, {2}, {1}, Padding::valid}, {tensor({1, 4, 1}, {1, nan, 3, 2})}), {nan, nan, 3});
}

}  // namespace
}  // namespace attn::test
