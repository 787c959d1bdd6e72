#include <limits>

#include "evaluate.h"

namespace attn::test {
namespace {

using graph::Cumulate;
using graph::Reduce;
using graph::ReduceFn;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_CASE("reduce: one axis, several, all and none can be reduced") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  check_near(result(Reduce{ReduceFn::sum, {0}}, {x}), {5, 7, 9});
  check_near(result(Reduce{ReduceFn::mean, {1}, true}, {x}), {2, 5});
  check_near(result(Reduce{ReduceFn::prod, {0, 1}}, {x}), {720});
  check_near(result(Reduce{ReduceFn::max, {}}, {x}), {1, 2, 3, 4, 5, 6});
  CHECK(evaluate(Reduce{ReduceFn::min, {0}, true}, {x}).front().shape() == Shape{1, 3});
}

TEST_CASE("reduce: an empty axis has sum 0, product 1 and mean NaN") {
  const Tensor none = tensor({2, 0}, {});
  check_near(result(Reduce{ReduceFn::sum, {1}}, {none}), {0, 0});
  check_near(result(Reduce{ReduceFn::prod, {1}}, {none}), {1, 1});
  check_near(result(Reduce{ReduceFn::mean, {1}}, {none}), {kNan, kNan});
  check_near(result(Reduce{ReduceFn::logsumexp, {1}}, {none}), {-kInf, -kInf});
  check_near(result(Reduce{ReduceFn::any, {1}}, {tensor({1, 0}, {}, DType::boolean)}), {0});
  check_near(result(Reduce{ReduceFn::all, {1}}, {tensor({1, 0}, {}, DType::boolean)}), {1});
}

TEST_CASE("reduce: NaN and infinities are reduced as in Keras") {
  const Tensor x = tensor({3, 3}, {1, kNan, 3, -kInf, -kInf, -kInf, kInf, 1, 2});
  check_near(result(Reduce{ReduceFn::max, {1}}, {x}), {kNan, -kInf, kInf});
  check_near(result(Reduce{ReduceFn::min, {1}}, {x}), {kNan, -kInf, 1});
  check_near(result(Reduce{ReduceFn::argmax, {1}}, {x}), {2, 0, 0});
  check_near(result(Reduce{ReduceFn::argmin, {1}}, {x}), {0, 0, 1});
  check_near(result(Reduce{ReduceFn::logsumexp, {1}}, {x}), {kNan, -kInf, kInf});
  check_near(result(Reduce{ReduceFn::argmax, {0}}, {tensor({3}, {-0.0, 0.0, 0.0})}), {1});
  CHECK(evaluate(Reduce{ReduceFn::argmax, {1}}, {x}).front().dtype() == DType::int32);
}

TEST_CASE("reduce: 64-bit integers are exact") {
  Tensor x(DType::int64, {2});
  x.as<std::int64_t>()[0] = (std::int64_t{1} << 60) + 1;
  x.as<std::int64_t>()[1] = (std::int64_t{1} << 60) + 2;
  CHECK(evaluate(Reduce{ReduceFn::sum, {0}}, {x}).front().as<std::int64_t>()[0] == (std::int64_t{1} << 61) + 3);
  CHECK(evaluate(Reduce{ReduceFn::argmax, {0}}, {x}).front().as<std::int32_t>()[0] == 1);
}

TEST_CASE("cumulate: sums and products accumulate along an axis") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  check_near(result(Cumulate{false, 1}, {x}), {1, 3, 6, 4, 9, 15});
  check_near(result(Cumulate{true, 0}, {x}), {1, 2, 3, 4, 10, 18});
  check_near(result(Cumulate{false, 0}, {tensor({0}, {})}), {});
}

}  // namespace
}  // namespace attn::test
