#include "evaluate.h"

namespace attn::test {
namespace {

using graph::Einsum;
using graph::Linear;
using graph::MatMul;

TEST_CASE("linear: bias, activation and residual follow x·kernel in this order") {
  const Tensor x = tensor({2, 2}, {1, 2, -3, 4});
  const Tensor kernel = tensor({2, 3}, {1, 0, -1, 2, 1, 0});
  const Tensor bias = tensor({3}, {0.5, -3, 0});
  const Tensor residual = tensor({2, 3}, {10, 20, 30, 40, 50, 60});
  check_near(result(Linear{1, true}, {x, kernel, bias}), {5.5, -1, -1, 5.5, 1, 3});
  const double inf = std::numeric_limits<double>::infinity();
  const Linear fused{1, true, {graph::UnaryFn::relu, 0, 0, inf}, true};
  check_near(result(fused, {x, kernel, bias, residual}), {15.5, 20, 30, 45.5, 51, 63});
}

TEST_CASE("linear: several axes can be contracted and added") {
  const Tensor x = wave({2, 2, 2}, 0);
  const Tensor kernel = wave({2, 2, 1, 3}, 1);  // contracts (2, 2), gives (1, 3)
  const auto y = evaluate(Linear{2}, {x, kernel}).front();
  CHECK(y.shape() == Shape{2, 1, 3});
  check_near(numbers(y), result(MatMul{}, {x.reshaped({2, 4}), kernel.reshaped({4, 3})}));
}

TEST_CASE("linear: an empty contraction leaves the bias, and empty sides give an empty result") {
  check_near(result(Linear{1, true}, {tensor({2, 0}, {}), tensor({0, 2}, {}), tensor({2}, {1, 2})}), {1, 2, 1, 2});
  check_near(result(Linear{1}, {tensor({0, 3}, {}), wave({3, 2}, 0)}), {});
  check_near(result(Linear{1}, {wave({2, 3}, 0), tensor({3, 0}, {})}), {});
}

TEST_CASE("linear: a zero does not hide NaN or infinity in the kernel") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  check_near(result(Linear{1}, {tensor({1, 2}, {0, 1}), tensor({2, 2}, {nan, 1, 2, 3})}), {nan, 3});
}

TEST_CASE("linear: integers are exact modulo their width") {
  Tensor x(DType::int64, {1, 2}), kernel(DType::int64, {2, 1});
  x.as<std::int64_t>()[0] = (std::int64_t{1} << 60) + 1;
  x.as<std::int64_t>()[1] = -1;
  kernel.as<std::int64_t>()[0] = 3;
  kernel.as<std::int64_t>()[1] = 5;
  CHECK(evaluate(Linear{1}, {x, kernel}).front().as<std::int64_t>()[0] == 3 * (std::int64_t{1} << 60) - 2);
}

TEST_CASE("matmul: batch axes broadcast, and either side may be transposed") {
  const Tensor x = tensor({2, 1, 2}, {1, 2, 3, 4});
  const Tensor y = tensor({2, 2}, {1, 2, 3, 4});
  check_near(result(MatMul{}, {x, y}), {7, 10, 15, 22});
  check_near(result(MatMul{false, true}, {x, y}), {5, 11, 11, 25});
  check_near(result(MatMul{true, false}, {tensor({2, 1}, {5, 6}), y}), {23, 34});
}

TEST_CASE("matmul: a vector is a row on the left and a column on the right") {
  const Tensor v = tensor({2}, {1, 2});
  const Tensor m = tensor({2, 2}, {1, 2, 3, 4});
  check_near(result(MatMul{}, {v, m}), {7, 10});
  check_near(result(MatMul{}, {m, v}), {5, 11});
  CHECK(evaluate(MatMul{}, {v, v}).front().shape() == Shape{});
  check_near(result(MatMul{}, {v, v}), {5});
}

TEST_CASE("einsum: sums, outer products, transposes and diagonals are right") {
  const Tensor m = tensor({2, 2}, {1, 2, 3, 4});
  const Tensor v = tensor({2}, {5, 6});
  check_near(result(Einsum{"ij,j->i"}, {m, v}), {17, 39});
  check_near(result(Einsum{"ij->ji"}, {m}), {1, 3, 2, 4});
  check_near(result(Einsum{"ii->i"}, {m}), {1, 4});
  check_near(result(Einsum{"ij->"}, {m}), {10});
  check_near(result(Einsum{"i,j->ij"}, {v, v}), {25, 30, 30, 36});
  check_near(result(Einsum{"i,ij,j->"}, {v, m, v}), {5 * 17.0 + 6 * 39.0});
  check_near(result(Einsum{"ij,jk->ik"}, {tensor({2, 0}, {}), tensor({0, 1}, {})}), {0, 0});
}

}  // namespace
}  // namespace attn::test
