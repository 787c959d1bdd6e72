// Quantized rows handed over to the next step give the same bits as stored rows.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "attn/backends/cpu.h"
#include "attn/base/rng.h"
#include "attn/plan/plan.h"

namespace attn::test {
namespace {

using namespace attn::graph;

/// A normalization, or a quantized dense map, with its weights.
struct Layer {
  Op op;
  std::vector<Tensor> weights;
};

Tensor draw(const std::string& name, DType dtype, const Shape& shape) {
  RandomStream stream(0, name);
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double number = stream.normal();
    tensor.set(i, dtype == DType::int8 ? std::nearbyint(std::fmin(std::fmax(40.0 * number, -127.0), 127.0)) : number);
  }
  return tensor;
}

Layer normalization(Dim width) {
  return {LayerNorm{NormKind::layer, {1}, 1e-6},
          {draw("gamma", DType::float32, {width}), draw("beta", DType::float32, {width})}};
}

Layer dense(const std::string& name, Dim from, Dim to, UnaryFn activation) {
  QuantizedLinear op;
  op.units = {to};
  op.inputs = IntegerRange{};
  op.bias = true;
  op.activation.fn = activation;
  if (activation == UnaryFn::relu) op.activation.c = std::numeric_limits<double>::infinity();
  Tensor scale(DType::float32, {to});
  for (Dim i = 0; i < to; ++i) scale.set(i, 20.0 + static_cast<double>(i % 7));
  return {op, {draw(name, DType::int8, {from, to}), scale, draw(name + "/bias", DType::float32, {to})}};
}

/// Runs layers one after the other, in one executable.
Tensor run(const std::vector<Layer>& layers, const Tensor& x, int threads) {
  Graph graph;
  Builder builder(graph);
  std::vector<Tensor> weights;
  ValueId y = builder.input("x", x.dtype(), x.shape());
  for (const Layer& layer : layers) {
    std::vector<ValueId> inputs{y};
    for (const Tensor& weight : layer.weights) {
      const std::string path = fmt::format("w{}", weights.size());
      inputs.push_back(builder.weight({path, path, weight.shape(), weight.dtype(), true, {}}));
      weights.push_back(weight);
    }
    y = builder.apply(layer.op, inputs);
  }
  graph.outputs.push_back({"output_0", y});
  const auto executable = backends::make_cpu_backend()->compile(plan::make_plan(graph), weights, {threads});
  executable->run({{x}});
  Tensor out(x.dtype(), executable->value(y).shape());
  std::memcpy(out.data(), executable->value(y).data(), static_cast<std::size_t>(out.bytes()));
  return out;
}

TEST_CASE("handover: rows handed over as int8 give the bits of rows stored as float32") {
  constexpr Dim kWidth = 37;  // neither a whole panel nor a whole quad
  for (const UnaryFn activation : {UnaryFn::linear, UnaryFn::relu, UnaryFn::gelu}) {
    const std::vector<Layer> layers{normalization(kWidth), dense("up", kWidth, 70, activation),
                                    dense("down", 70, kWidth, UnaryFn::linear)};
    for (const Dim rows : {1, 50, 1000}) {  // with a thousand rows, a thread computes whole ones
      Tensor x = draw("x", DType::float32, {rows, kWidth});
      x.set(rows * kWidth / 2, std::numeric_limits<double>::infinity());
      for (const int threads : {1, 2}) {
        Tensor stored = x;
        for (const Layer& layer : layers) stored = run({layer}, stored, threads);
        const Tensor handed = run(layers, x, threads);
        CHECK_MESSAGE(std::memcmp(handed.data(), stored.data(), static_cast<std::size_t>(stored.bytes())) == 0,
                      fmt::format("{} rows, {} threads", rows, threads));
      }
    }
  }
}

}  // namespace
}  // namespace attn::test
