// Vector-Jacobian products of Keras on TensorFlow in float64 (tests/data/gradients/ops.npz), ties and edges among them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "../evaluate.h"
#include "../places.h"
#include "attn/gradients/gradients.h"
#include "attn/io/tensor_file.h"

namespace attn::test {
namespace {

using namespace attn::graph;
using Values = std::vector<ValueId>;
using Make = std::function<ValueId(Builder&, const Values&)>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Make one(Op op) {
  return [op](Builder& b, const Values& x) { return b.apply(op, x); };
}

/// Makes a graph whose last input is a constant of integers.
Make with_indices(Op op, Shape shape, std::vector<double> indices) {
  return [=](Builder& b, const Values& x) {
    Tensor tensor(DType::int32, shape);
    for (std::size_t i = 0; i < indices.size(); ++i) tensor.set(static_cast<std::int64_t>(i), indices[i]);
    return b.apply(op, {x[0], b.constant(tensor)});
  };
}

Make attention(AttentionPath path, bool masked) {
  return [=](Builder& b, const Values& x) {
    Attention op;
    op.scale = 0.5;
    op.path = path;
    Values inputs = x;
    if (masked) {
      op.masks = 1;
      Tensor mask(DType::boolean, {3, 4});
      for (const std::int64_t seen : {0, 1, 3, 8}) mask.set(seen, 1.0);
      inputs.push_back(b.constant(mask));
    }
    return b.apply(op, inputs);
  };
}

ValueId where_positive(Builder& b, const Values& x) {
  return b.apply(Select{}, {b.binary(BinaryFn::greater, x[0], b.scalar_like(x[0], 0.0)), x[0], x[1]});
}

ValueId batch_norm(Builder& b, const Values& x) { return b.apply_all(BatchNormTraining{-1}, x)[0]; }

/// x/max(‖x‖, ε), as in UnitNormalization: x·rsqrt(max(Σx², 1e-12)).
ValueId unit_norm(Builder& b, const Values& x) {
  const ValueId sum = b.apply(Reduce{ReduceFn::sum, {1}, true}, {b.unary(UnaryFn::square, x[0])});
  const ValueId held = b.binary(BinaryFn::maximum, sum, b.scalar_like(sum, 1e-12));
  return b.binary(BinaryFn::multiply, x[0], b.unary(UnaryFn::rsqrt, held));
}

const std::map<std::string, Make>& operations() {
  static const std::map<std::string, Make> table{
      {"relu", one(Unary{UnaryFn::relu, 0.0, 0.0, kInf})},
      {"relu6", one(Unary{UnaryFn::relu, 0.0, 0.0, 6.0})},
      {"leaky_relu", one(Unary{UnaryFn::relu, 0.2, 0.0, kInf})},
      {"relu_layer", one(Unary{UnaryFn::relu, 0.1, 0.2, 1.0})},
      {"elu", one(Unary{UnaryFn::elu, 1.0})},
      {"celu", one(Unary{UnaryFn::celu, 1.0})},
      {"selu", one(Unary{UnaryFn::selu})},
      {"gelu", one(Unary{UnaryFn::gelu_tanh})},
      {"gelu_erf", one(Unary{UnaryFn::gelu})},
      {"silu", one(Unary{UnaryFn::silu})},
      {"sigmoid", one(Unary{UnaryFn::sigmoid})},
      {"tanh", one(Unary{UnaryFn::tanh})},
      {"softplus", one(Unary{UnaryFn::softplus})},
      {"softsign", one(Unary{UnaryFn::softsign})},
      {"hard_sigmoid", one(Unary{UnaryFn::hard_sigmoid})},
      {"hard_silu", one(Unary{UnaryFn::hard_silu})},
      {"hard_tanh", one(Unary{UnaryFn::hard_tanh})},
      {"log_sigmoid", one(Unary{UnaryFn::log_sigmoid})},
      {"mish", one(Unary{UnaryFn::mish})},
      {"hard_shrink", one(Unary{UnaryFn::hard_shrink, 0.5})},
      {"soft_shrink", one(Unary{UnaryFn::soft_shrink, 0.5})},
      {"tanh_shrink", one(Unary{UnaryFn::tanh_shrink})},
      {"threshold", one(Unary{UnaryFn::threshold, 0.5, -1.0})},
      {"squareplus", one(Unary{UnaryFn::squareplus, 4.0})},
      {"sparse_plus", one(Unary{UnaryFn::sparse_plus})},
      {"sparse_sigmoid", one(Unary{UnaryFn::sparse_sigmoid})},
      {"absolute", one(Unary{UnaryFn::absolute})},
      {"negative", one(Unary{UnaryFn::negative})},
      {"exp", one(Unary{UnaryFn::exponential})},
      {"expm1", one(Unary{UnaryFn::expm1})},
      {"sin", one(Unary{UnaryFn::sin})},
      {"cos", one(Unary{UnaryFn::cos})},
      {"tan", one(Unary{UnaryFn::tan})},
      {"arctan", one(Unary{UnaryFn::atan})},
      {"sinh", one(Unary{UnaryFn::sinh})},
      {"cosh", one(Unary{UnaryFn::cosh})},
      {"arcsinh", one(Unary{UnaryFn::asinh})},
      {"erf", one(Unary{UnaryFn::erf})},
      {"square", one(Unary{UnaryFn::square})},
      {"sign", one(Unary{UnaryFn::sign})},
      {"log", one(Unary{UnaryFn::log})},
      {"log1p", one(Unary{UnaryFn::log1p})},
      {"log2", one(Unary{UnaryFn::log2})},
      {"log10", one(Unary{UnaryFn::log10})},
      {"sqrt", one(Unary{UnaryFn::sqrt})},
      {"rsqrt", one(Unary{UnaryFn::rsqrt})},
      {"reciprocal", one(Unary{UnaryFn::reciprocal})},
      {"arccosh", one(Unary{UnaryFn::acosh})},
      {"arcsin", one(Unary{UnaryFn::asin})},
      {"arccos", one(Unary{UnaryFn::acos})},
      {"arctanh", one(Unary{UnaryFn::atanh})},
      {"clip", one(Unary{UnaryFn::clip, -1.0, 1.0})},
      {"add", one(Binary{BinaryFn::add})},
      {"subtract", one(Binary{BinaryFn::subtract})},
      {"multiply", one(Binary{BinaryFn::multiply})},
      {"maximum", one(Binary{BinaryFn::maximum})},
      {"minimum", one(Binary{BinaryFn::minimum})},
      {"divide", one(Binary{BinaryFn::divide})},
      {"power", one(Binary{BinaryFn::power})},
      {"arctan2", one(Binary{BinaryFn::atan2})},
      {"mod", one(Binary{BinaryFn::mod})},
      {"floor_divide", one(Binary{BinaryFn::floor_divide})},
      {"where", where_positive},
      {"softmax", one(Softmax{SoftmaxKind::softmax, {1}})},
      {"softmax_axes", one(Softmax{SoftmaxKind::softmax, {1, 2}})},
      {"log_softmax", one(Softmax{SoftmaxKind::log_softmax, {1}})},
      {"sparsemax", one(Softmax{SoftmaxKind::sparsemax, {1}})},
      {"max", one(Reduce{ReduceFn::max, {1}})},
      {"min", one(Reduce{ReduceFn::min, {1}})},
      {"max_all", one(Reduce{ReduceFn::max, {0, 1}})},
      {"sum", one(Reduce{ReduceFn::sum, {1}})},
      {"mean", one(Reduce{ReduceFn::mean, {0, 2}})},
      {"prod", one(Reduce{ReduceFn::prod, {1}})},
      {"logsumexp", one(Reduce{ReduceFn::logsumexp, {1}})},
      {"cumsum", one(Cumulate{false, 1})},
      {"cumprod", one(Cumulate{true, 1})},
      {"matmul", one(MatMul{})},
      {"matmul_broadcast", one(MatMul{})},
      {"matmul_vector", one(MatMul{})},
      {"einsum", one(Einsum{"abc,cde->abde"})},
      {"einsum_diagonal", one(Einsum{"aab->b"})},
      {"einsum_sum", one(Einsum{"abc,bd->ad"})},
      {"take_duplicates", with_indices(Gather{0}, {2, 3}, {1, 1, 2, 0, -1, 1})},
      {"take_axis1", with_indices(Gather{1}, {3}, {2, 0, 2})},
      {"slice_step",
       [](Builder& b, const Values& x) {
         return b.reshape(b.apply(Slice{{{}, {1, 6, 2}, {0, 1}}}, x), {2, 3});
       }},
      {"slice_negative", one(Slice{{{}, {{}, {}, -2}}})},
      {"pad_constant", one(Pad{PadMode::constant, {1, 2}, {0, 1}})},
      {"pad_reflect", one(Pad{PadMode::reflect, {1, 2}, {0, 1}})},
      {"pad_symmetric", one(Pad{PadMode::symmetric, {1, 2}, {0, 1}})},
      {"transpose", one(Transpose{{2, 0, 1}})},
      {"broadcast_to", one(Broadcast{{2, 3, 4}})},
      {"concatenate",
       [](Builder& b, const Values& x) {
         return b.apply(Concat{1}, {x[0], x[1], x[0]});
       }},
      {"max_pool_ties", one(Pool{false, {2}, {1}, Padding::same})},
      {"max_pool2d", one(Pool{false, {2, 3}, {2, 2}, Padding::same})},
      {"average_pool_same", one(Pool{true, {3}, {2}, Padding::same})},
      {"average_pool2d", one(Pool{true, {2, 2}, {1, 2}, Padding::valid})},
      {"conv1d_same_stride", one(Conv{{2}, {1}, Padding::same})},
      {"conv1d_dilated", one(Conv{{1}, {2}, Padding::valid})},
      {"conv2d", one(Conv{{2, 1}, {1, 1}, Padding::same})},
      {"depthwise2d",
       [](Builder& b,
          const Values&
              x) { return b.apply(Conv{{1, 1}, {1, 1}, Padding::same, 3}, {x[0], b.reshape(x[1], {3, 3, 1, 3})}); }},
      {"conv3d", one(Conv{{1, 1, 1}, {1, 1, 1}, Padding::valid})},
      {"layer_norm", one(LayerNorm{NormKind::layer, {2}, 1e-3, true, true})},
      {"rms_norm", one(LayerNorm{NormKind::rms, {2}, 1e-6, true, false})},
      {"batch_norm_training", batch_norm},
      {"unit_norm", unit_norm},
      {"attention", attention(AttentionPath::fused, false)},
      {"attention_fused_masked_row", attention(AttentionPath::fused, true)},
      {"attention_explicit_masked_row", attention(AttentionPath::explicit_, true)},
  };
  return table;
}

/// The largest difference, except where both are NaN or the same infinity.
double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0.0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
    worst = std::isnan(x) || std::isnan(y) ? kInf : std::max(worst, std::abs(x - y) / std::max(1.0, std::abs(x)));
  }
  return worst;
}

}  // namespace

TEST_CASE("gradients: gradients of operations equal Keras's, at ties and edges too") {
  std::map<std::string, Tensor> arrays;
  for (const NamedTensor& array : io::read_tensors(in_repository("tests/data/gradients/ops.npz")))
    arrays.emplace(array.name, array.tensor);
  std::ifstream index(in_repository("tests/data/gradients/ops.json"));
  for (const nlohmann::json& row : nlohmann::json::parse(index)) {
    const std::string name = row["operation"];
    const int number = row["number"];
    CAPTURE(name);
    CAPTURE(number);
    // TensorFlow stores the constants of these as float32.
    const bool coarse = name == "leaky_relu" || name == "gelu" || name == "gelu_erf";
    const double tolerance = coarse ? 1e-8 : 1e-12;
    const auto array = [&](const std::string& which) { return arrays.at(fmt::format("{}:{}", number, which)); };
    Graph graph;
    Builder b(graph);
    std::vector<Tensor> inputs;
    for (int i = 0; i < row["inputs"]; ++i) {
      inputs.push_back(array(fmt::format("x{}", i)).cast(DType::float64));
      b.input(fmt::format("x{}", i), DType::float64, inputs.back().shape());
    }
    const Values x = graph.inputs;
    const ValueId y = operations().at(name)(b, x);
    std::vector<int> axes;
    for (int axis = 0; axis < b.shape(y).rank(); ++axis) axes.push_back(axis);
    const ValueId loss = b.apply(Reduce{ReduceFn::sum, axes},
                                 {b.binary(BinaryFn::multiply, y, b.constant(array("g").cast(DType::float64)))});
    const auto out = gradients::differentiate(graph, loss, x);
    // The same double arithmetic in another order.
    CHECK(largest_difference(array("y"), evaluate(out.graph, inputs, {y})[0]) <= tolerance);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(i);
      const bool none = std::find(row["none"].begin(), row["none"].end(), static_cast<int>(i)) != row["none"].end();
      const Tensor expected = array(fmt::format("d{}", i));
      if (out.gradients[i] == kNone) {  // Keras has a gradient of 0 where a function is flat, such as sign
        CHECK(largest_difference(expected, Tensor(DType::float64, inputs[i].shape())) == 0.0);
      } else {
        CHECK(!none);
        CHECK(largest_difference(expected, evaluate(out.graph, inputs, {out.gradients[i]})[0]) <= tolerance);
      }
    }
  }
}

}  // namespace attn::test
