// Gradients against central differences in float64.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../evaluate.h"
#include "../long.h"
#include "attn/base/error.h"
#include "attn/gradients/gradients.h"
#include "cases.h"

namespace attn::test {
namespace {

using graph::ValueId;

Tensor draw(const Input& input, RandomStream& stream) {
  const auto tensor = [&](DType dtype, const auto& number) {
    Tensor out(dtype, input.shape);
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, number());
    return out;
  };
  switch (input.numbers) {
    case Numbers::normal:
      return tensor(DType::float64, [&] { return stream.normal(); });
    case Numbers::positive:
      return tensor(DType::float64, [&] { return 0.2 + 1.8 * stream.uniform(); });
    case Numbers::unit:
      return tensor(DType::float64, [&] { return 1.8 * stream.uniform() - 0.9; });
    case Numbers::above:
      return tensor(DType::float64, [&] { return 1.2 + 1.8 * stream.uniform(); });
    case Numbers::indices:
      return tensor(DType::int32,
                    [&] { return std::floor((2.0 * stream.uniform() - 1.0) * static_cast<double>(input.below)); });
    case Numbers::labels:
      return tensor(DType::int32, [&] { return std::floor(stream.uniform() * static_cast<double>(input.below)); });
    case Numbers::mask:
      return tensor(DType::boolean, [&] { return stream.uniform() < 0.67 ? 1.0 : 0.0; });
    case Numbers::counter:
      return tensor(DType::int64, [] { return 3.0; });
  }
  throw internal_error("no such numbers");
}

/// The graph of a case. Its loss is the sum of all elements of the outputs, each times a random factor.
struct Setup {
  graph::Graph graph;
  std::vector<Tensor> inputs;
  std::vector<std::size_t> floats;  // indices of the inputs with a gradient
  ValueId loss = graph::kNone;

  Setup(const Case& row, std::uint64_t seed) {
    RandomStream stream(seed, row.name);
    graph::Builder b(graph);
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      inputs.push_back(draw(row.inputs[i], stream));
      if (is_floating(inputs[i].dtype())) floats.push_back(i);
      b.input(fmt::format("x{}", i), inputs[i].dtype(), inputs[i].shape());
    }
    std::vector<ValueId> outputs = b.apply_all(row.op, graph.inputs);
    // The mean and the variance of a batch feed moving averages, which are not differentiated.
    if (std::holds_alternative<graph::BatchNormTraining>(row.op)) outputs.resize(1);
    for (const ValueId out : outputs) {
      const Tensor factors = draw({b.shape(out)}, stream);
      std::vector<int> axes;
      for (int axis = 0; axis < b.shape(out).rank(); ++axis) axes.push_back(axis);
      const ValueId sum = b.apply(graph::Reduce{graph::ReduceFn::sum, axes},
                                  {b.binary(graph::BinaryFn::multiply, out, b.constant(factors))});
      loss = loss == graph::kNone ? sum : b.binary(graph::BinaryFn::add, loss, sum);
    }
  }

  [[nodiscard]] double loss_at(std::size_t input, std::int64_t element, double value) const {
    std::vector<Tensor> moved = inputs;
    moved[input] = inputs[input].cast(DType::float32).cast(DType::float64);  // a copy
    for (std::int64_t i = 0; i < moved[input].size(); ++i) moved[input].set(i, inputs[input].at(i));
    moved[input].set(element, value);
    return evaluate(graph, moved, {loss})[0].at(0);
  }
};

void check(const Case& row, std::uint64_t seed) {
  const Setup setup(row, seed);
  std::vector<ValueId> wanted;
  for (const std::size_t i : setup.floats) wanted.push_back(setup.graph.inputs[i]);
  const gradients::Differentiated result = gradients::differentiate(setup.graph, setup.loss, wanted);
  REQUIRE_NOTHROW(graph::verify(result.graph));
  for (const ValueId id : result.gradients) REQUIRE_MESSAGE(id != graph::kNone, row.name);
  const std::vector<Tensor> gradients = evaluate(result.graph, setup.inputs, result.gradients);
  for (std::size_t n = 0; n < gradients.size(); ++n) {
    const std::size_t input = setup.floats[n];
    double worst = 0.0, largest = 1.0;
    for (std::int64_t i = 0; i < gradients[n].size(); ++i) {
      const double x = setup.inputs[input].at(i), h = 1e-6 * std::max(1.0, std::abs(x));
      const double slope = (setup.loss_at(input, i, x + h) - setup.loss_at(input, i, x - h)) / ((x + h) - (x - h));
      worst = std::max(worst, std::abs(slope - gradients[n].at(i)));
      largest = std::max(largest, std::abs(slope));
    }
    // Differences lose ten of sixteen digits to cancellation.
    CHECK_MESSAGE(worst <= 1e-7 * largest, fmt::format("{} seed {} input {} {}: {} of {}", row.name, seed, input,
                                                       gradients[n].shape().str(), worst, largest));
  }
}

}  // namespace

TEST_CASE("gradients: every operation agrees with central differences on random shapes") {
  const std::uint64_t draws = runs_long() ? 100 : 6;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    Dice dice(seed);
    for (const Case& row : gradient_cases(dice)) check(row, seed);
  }
}

TEST_CASE("gradients: every differentiable unary or binary function has a case") {
  std::set<graph::UnaryFn> of_one;
  std::set<graph::BinaryFn> of_two;
  Dice dice(1);
  for (const Case& row : gradient_cases(dice)) {
    if (const auto* unary = std::get_if<graph::Unary>(&row.op)) of_one.insert(unary->fn);
    if (const auto* binary = std::get_if<graph::Binary>(&row.op)) of_two.insert(binary->fn);
  }
  constexpr std::size_t kFlatOfOne = 10;  // five roundings and the sign, four that return bools
  CHECK(of_one.size() == graph::kUnaryFns.size() - kFlatOfOne);
  for (const graph::UnaryFn fn : {graph::UnaryFn::floor, graph::UnaryFn::ceil, graph::UnaryFn::round,
                                  graph::UnaryFn::trunc, graph::UnaryFn::float8_e4m3fn, graph::UnaryFn::sign})
    CHECK(!of_one.contains(fn));
  CHECK(of_two == std::set{graph::BinaryFn::add, graph::BinaryFn::subtract, graph::BinaryFn::multiply,
                           graph::BinaryFn::divide, graph::BinaryFn::power, graph::BinaryFn::maximum,
                           graph::BinaryFn::minimum, graph::BinaryFn::atan2, graph::BinaryFn::mod});
}

TEST_CASE("gradients: every differentiable operation has a case") {
  std::set<std::size_t> kinds;
  Dice dice(1);
  for (const Case& row : gradient_cases(dice)) kinds.insert(row.op.index());
  const std::vector<graph::Op> without{graph::Append{},
                                       graph::CachedAttention{},
                                       graph::Quantize{},
                                       graph::Dequantize{},
                                       graph::QuantizedLinear{},
                                       graph::AllReduce{},
                                       graph::AllGather{},
                                       graph::ReduceScatter{},
                                       graph::Shift{},
                                       graph::Iota{},
                                       graph::Fill{},
                                       graph::UnaryGrad{},
                                       graph::AttentionGrad{},
                                       graph::LayerNormGrad{},
                                       graph::BatchNormGrad{},
                                       graph::ConvInputGrad{},
                                       graph::ConvKernelGrad{},
                                       graph::PoolGrad{},
                                       graph::RnnGrad{},
                                       graph::DeltaRuleGrad{},
                                       graph::SoftmaxCrossEntropyGrad{}};
  CHECK(kinds.size() + without.size() == std::variant_size_v<graph::Op::Variant>);
  for (const graph::Op& op : without) CHECK_MESSAGE(!kinds.contains(op.index()), graph::name_of(op));
}

}  // namespace attn::test
