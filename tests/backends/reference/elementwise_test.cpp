#include <limits>

#include "attn/base/error.h"
#include "evaluate.h"

namespace attn::test {
namespace {

using graph::Binary;
using graph::BinaryFn;
using graph::Unary;
using graph::UnaryFn;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<double> kArguments{kNan, kInf, -kInf, 0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 7.0, -1.0};

struct Row {
  std::string name;
  Unary op;
  std::vector<double> expected;  // Keras 3.15 on TensorFlow in float32, at kArguments
};

// Six digits, the precision of float32.
const std::vector<Row> kRows{
    {"relu", {UnaryFn::relu, 0, 0, kInf}, {kNan, kInf, 0, 0, .5, 1.5, 2.5, 0, 0, 7, 0}},
    {"relu max", {UnaryFn::relu, 0, 0, 4}, {kNan, 4, 0, 0, .5, 1.5, 2.5, 0, 0, 4, 0}},
    {"relu threshold clears NaN", {UnaryFn::relu, 0, 1, kInf}, {0, kInf, 0, 0, 0, 1.5, 2.5, 0, 0, 7, 0}},
    {"relu slope", {UnaryFn::relu, .5, 0, kInf}, {kNan, kInf, -kInf, 0, .5, 1.5, 2.5, -.25, -.75, 7, -.5}},
    {"relu all", {UnaryFn::relu, .5, 1, 4}, {kNan, 4, -kInf, -.5, -.25, 1.5, 2.5, -.75, -1.25, 4, -1}},
    {"elu", {UnaryFn::elu, .5}, {kNan, kInf, -.5, 0, .5, 1.5, 2.5, -.196735, -.388435, 7, -.31606}},
    {"celu", {UnaryFn::celu, 1}, {kNan, kInf, -1, 0, .5, 1.5, 2.5, -.393469, -.77687, 7, -.632121}},
    {"selu",
     {UnaryFn::selu},
     {kNan, kInf, -1.758099, 0, .52535, 1.576051, 2.626752, -.691758, -1.365814, 7.354907, -1.111331}},
    {"gelu", {UnaryFn::gelu}, {kNan, kInf, kNan, 0, .345731, 1.399789, 2.484476, -.154269, -.100211, 7, -.158655}},
    {"gelu_tanh",
     {UnaryFn::gelu_tanh},
     {kNan, kInf, kNan, 0, .345714, 1.399572, 2.484915, -.154286, -.100428, 7, -.158808}},
    {"silu",
     {UnaryFn::silu},
     {kNan, kInf, kNan, 0, .31123, 1.226362, 2.310355, -.188771, -.273638, 6.993623, -.268941}},
    {"softplus",
     {UnaryFn::softplus},
     {kNan, kInf, 0, .693147, .974077, 1.701413, 2.57889, .474077, .201413, 7.000911, .313262}},
    {"softsign", {UnaryFn::softsign}, {kNan, kNan, kNan, 0, .333333, .6, .714286, -.333333, -.6, .875, -.5}},
    {"hard_sigmoid", {UnaryFn::hard_sigmoid}, {kNan, 1, 0, .5, .583333, .75, .916667, .416667, .25, 1, .333333}},
    {"hard_sigmoid of Keras 2", {UnaryFn::hard_sigmoid, 2.5}, {kNan, 1, 0, .5, .6, .8, 1, .4, .2, 1, .3}},
    {"hard_silu", {UnaryFn::hard_silu}, {kNan, kInf, kNan, 0, .291667, 1.125, 2.291667, -.208333, -.375, 7, -.333333}},
    {"hard_tanh", {UnaryFn::hard_tanh}, {kNan, 1, -1, 0, .5, 1, 1, -.5, -1, 1, -1}},
    {"log_sigmoid",
     {UnaryFn::log_sigmoid},
     {kNan, 0, -kInf, -.693147, -.474077, -.201413, -.0788897, -.974077, -1.701413, -.000911466, -1.313262}},
    {"mish", {UnaryFn::mish}, {kNan, kInf, kNan, 0, .375245, 1.403379, 2.471392, -.220743, -.2981, 6.999988, -.303401}},
    {"hard_shrink", {UnaryFn::hard_shrink, .5}, {0, kInf, -kInf, 0, 0, 1.5, 2.5, 0, -1.5, 7, -1}},
    {"soft_shrink", {UnaryFn::soft_shrink, .5}, {0, kInf, -kInf, 0, 0, 1, 2, 0, -1, 6.5, -.5}},
    {"tanh_shrink",
     {UnaryFn::tanh_shrink},
     {kNan, kInf, -kInf, 0, .0378828, .594852, 1.513386, -.0378828, -.594852, 6.000002, -.238406}},
    {"threshold", {UnaryFn::threshold, 1, 9}, {9, kInf, 9, 9, 9, 1.5, 2.5, 9, 9, 7, 9}},
    {"squareplus",
     {UnaryFn::squareplus, 4},
     {kNan, kInf, kNan, 1, 1.280776, 2, 2.850781, .780776, .5, 7.140055, .618034}},
    {"sparse_plus", {UnaryFn::sparse_plus}, {kNan, kInf, 0, .25, .5625, 1.5, 2.5, .0625, 0, 7, 0}},
    {"sparse_sigmoid", {UnaryFn::sparse_sigmoid}, {kNan, 1, 0, .5, .75, 1, 1, .25, 0, 1, 0}},
    {"round", {UnaryFn::round}, {kNan, kInf, -kInf, 0, 0, 2, 2, 0, -2, 7, -1}},
    {"sign", {UnaryFn::sign}, {kNan, 1, -1, 0, 1, 1, 1, -1, -1, 1, -1}},
    {"clip", {UnaryFn::clip, -1, 2}, {kNan, 2, -1, 0, .5, 1.5, 2, -.5, -1, 2, -1}},
    {"rsqrt", {UnaryFn::rsqrt}, {kNan, 0, kNan, kInf, 1.414214, .816497, .632456, kNan, kNan, .377964, kNan}},
    {"log1p", {UnaryFn::log1p}, {kNan, kInf, kNan, 0, .405465, .916291, 1.252763, -.693147, kNan, 2.079442, -kInf}},
    {"isnan", {UnaryFn::isnan}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"isfinite", {UnaryFn::isfinite}, {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}},
};

TEST_CASE("unary: every activation equals Keras's, also at infinity and NaN") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    check_near(result(row.op, {tensor({11}, kArguments)}), row.expected, 2e-6);
  }
}

TEST_CASE("unary: a half float is computed in double and rounded once") {
  const Tensor x = tensor({2}, {0.3, 11.0}, DType::bfloat16);
  const Tensor y = evaluate(Unary{UnaryFn::gelu}, {x}).front();
  CHECK(y.dtype() == DType::bfloat16);
  for (std::int64_t i = 0; i < 2; ++i) {
    const double exact = 0.5 * x.at(i) * (1.0 + std::erf(x.at(i) / std::sqrt(2.0)));
    Tensor rounded(DType::bfloat16, {1});
    rounded.set(0, exact);
    CHECK(y.at(i) == rounded.at(0));
  }
}

TEST_CASE("binary: shapes are broadcast") {
  const Tensor x = tensor({2, 1}, {10, 20});
  const Tensor y = tensor({3}, {1, 2, 3});
  check_near(result(Binary{BinaryFn::subtract}, {x, y}), {9, 8, 7, 19, 18, 17});
  check_near(result(Binary{BinaryFn::add}, {tensor({0, 1}, {}), y}), {});
}

TEST_CASE("binary: division, remainder and NaN follow Keras") {
  const Tensor x = tensor({6}, {1.5, -1.5, 2.5, -0.5, 3.0, kNan});
  const Tensor y = tensor({6}, {2.0, 0.7, -1.0, 0.4, kInf, 1.0});
  check_near(result(Binary{BinaryFn::floor_divide}, {x, y}), {0, -3, -3, -2, 0, kNan});
  check_near(result(Binary{BinaryFn::mod}, {x, y}), {1.5, 0.6, -0.5, 0.3, 3.0, kNan});
  check_near(result(Binary{BinaryFn::maximum}, {x, y}), {2.0, 0.7, 2.5, 0.4, kInf, kNan});
  check_near(result(Binary{BinaryFn::minimum}, {y, x}), {1.5, -1.5, -1.0, -0.5, 3.0, kNan});
  check_near(result(Binary{BinaryFn::not_equal}, {x, x}), {0, 0, 0, 0, 0, 1});
  check_near(result(Binary{BinaryFn::less_equal}, {x, x}), {1, 1, 1, 1, 1, 0});
}

TEST_CASE("binary: integer division rounds towards minus infinity") {
  const Tensor x = tensor({5}, {7, -7, 7, -7, 0}, DType::int32);
  const Tensor y = tensor({5}, {2, 2, -2, -2, 3}, DType::int32);
  check_near(result(Binary{BinaryFn::floor_divide}, {x, y}), {3, -4, -4, 3, 0});
  check_near(result(Binary{BinaryFn::mod}, {x, y}), {1, 1, -1, -1, 0});
}

TEST_CASE("binary: 64-bit integers beyond 2^53 are exact and wrap") {
  Tensor x(DType::int64, {3});
  x.as<std::int64_t>()[0] = (std::int64_t{1} << 53) + 1;
  x.as<std::int64_t>()[1] = std::numeric_limits<std::int64_t>::max();
  x.as<std::int64_t>()[2] = std::numeric_limits<std::int64_t>::min();
  const Tensor y = evaluate(Binary{BinaryFn::add}, {x, tensor({3}, {1, 1, 0}, DType::int64)}).front();
  CHECK(y.as<std::int64_t>()[0] == (std::int64_t{1} << 53) + 2);
  CHECK(y.as<std::int64_t>()[1] == std::numeric_limits<std::int64_t>::min());
  const Tensor z = evaluate(Binary{BinaryFn::floor_divide}, {x, tensor({3}, {1, 1, -1}, DType::int64)}).front();
  CHECK(z.as<std::int64_t>()[1] == std::numeric_limits<std::int64_t>::max());
  CHECK(z.as<std::int64_t>()[2] == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("binary: an unsigned 64-bit number above 2^63 is positive") {
  Tensor x(DType::uint64, {1}), y(DType::uint64, {1});
  x.as<std::uint64_t>()[0] = ~std::uint64_t{0};
  y.as<std::uint64_t>()[0] = 1;
  CHECK(result(Binary{BinaryFn::greater}, {x, y}) == std::vector<double>{1});
  CHECK(evaluate(Binary{BinaryFn::maximum}, {x, y}).front().as<std::uint64_t>()[0] == ~std::uint64_t{0});
}

TEST_CASE("binary: integer division by zero is rejected") {
  const Tensor x = tensor({1}, {5}, DType::int32);
  const Tensor zero = tensor({1}, {0}, DType::int32);
  CHECK_THROWS_WITH_AS(result(Binary{BinaryFn::mod}, {x, zero}), "integer division of 5 by zero", Error);
  CHECK_THROWS_AS(result(Binary{BinaryFn::power}, {x, tensor({1}, {-1}, DType::int32)}), Error);
}

TEST_CASE("select: elements come from either side, broadcast, whatever the other side has") {
  const Tensor condition = tensor({2, 1}, {1, 0}, DType::boolean);
  check_near(result(graph::Select{}, {condition, tensor({2}, {1, 2}), tensor({1}, {kNan})}), {1, 2, kNan, kNan});
}

TEST_CASE("cast: casts truncate to integers, compare with zero for bool, and keep the low bits between integers") {
  const Tensor x = tensor({4}, {3.9, -3.9, 0.0, 0.1});
  check_near(result(graph::Cast{DType::int32}, {x}), {3, -3, 0, 0});
  check_near(result(graph::Cast{DType::boolean}, {tensor({3}, {kNan, 0.0, 0.1})}), {1, 0, 1});
  Tensor wide(DType::int64, {1});
  wide.as<std::int64_t>()[0] = (std::int64_t{1} << 62) + 258;
  check_near(result(graph::Cast{DType::uint8}, {wide}), {2});
  CHECK(evaluate(graph::Cast{DType::uint64}, {wide}).front().as<std::uint64_t>()[0] == (std::uint64_t{1} << 62) + 258);
}

TEST_CASE("fill, iota: every element depends only on its position") {
  check_near(result(graph::Fill{{2, 2}, DType::float16, 0.5}, {}), {0.5, 0.5, 0.5, 0.5});
  check_near(result(graph::Iota{{2, 3}, DType::int32, 1, 1.0, 2.0}, {}), {1, 3, 5, 1, 3, 5});
  check_near(result(graph::Iota{{2, 3}, DType::float32, 0, 0.0, -1.0}, {}), {0, 0, 0, -1, -1, -1});
  check_near(result(graph::Iota{{0}, DType::int32, 0, 0.0, 1.0}, {}), {});
}

}  // namespace
}  // namespace attn::test
