// Splits operations in half precision into the steps that Keras on TensorFlow computes.
//
// An operation of attn rounds once. Keras rounds after each of several steps: after a product and after its bias,
// within gelu, and after the scores and the probabilities of attention. Rounding less often is closer to float32, but
// it moves a training farther from Keras run eagerly than Keras's graphs and XLA are.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "attn/gradients/passes.h"

namespace attn::gradients {

using graph::Attention;
using graph::BinaryFn;
using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::UnaryFn;
using graph::ValueId;

namespace {

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// Appends the steps of one node and returns their result.
class Steps {
 public:
  explicit Steps(Builder& builder) : b(builder) {}

  /// Appends the product of a Linear or Conv, then bias, activation and residual.
  template <typename Op>
  ValueId product(Op op, std::vector<ValueId> inputs) {
    const graph::Unary activation = std::exchange(op.activation, {});
    ValueId residual = graph::kNone;
    if constexpr (std::is_same_v<Op, graph::Linear>) {
      if (std::exchange(op.residual, false)) {
        residual = inputs.back();
        inputs.pop_back();
      }
    }
    ValueId bias = graph::kNone;
    if (std::exchange(op.bias, false)) {
      bias = inputs.back();
      inputs.pop_back();
    }
    ValueId y = b.apply(op, std::move(inputs));
    if (bias != graph::kNone) y = add(y, bias);
    if (activation.fn != UnaryFn::linear)
      y = is_gelu(activation.fn) ? gelu(activation.fn, y) : b.apply(activation, {y});
    return residual == graph::kNone ? y : add(y, residual);
  }

  [[nodiscard]] static bool is_gelu(UnaryFn fn) { return fn == UnaryFn::gelu || fn == UnaryFn::gelu_tanh; }

  /// tf.nn.gelu: 0.5·x·erfc(−x·√½), or 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
  ValueId gelu(UnaryFn fn, ValueId x) {
    const ValueId half = times(x, 0.5);
    if (fn == UnaryFn::gelu) {
      const ValueId scaled = wide(times(x, std::sqrt(0.5)));  // erfc(−z) is 1 + erf(z), rounded once
      return multiply(half, b.cast(add(b.unary(UnaryFn::erf, scaled), b.scalar_like(scaled, 1.0)), b.dtype(x)));
    }
    const ValueId cube = b.binary(BinaryFn::power, x, b.scalar_like(x, 3.0));
    const ValueId bent = b.unary(UnaryFn::tanh, times(add(x, times(cube, 0.044715)), std::sqrt(2.0 / M_PI)));
    return multiply(half, add(bent, b.scalar_like(bent, 1.0)));
  }

  /// Returns the context (B,T,N,V) and the probabilities (B,N,T,S).
  std::pair<ValueId, ValueId> attention(const Attention& op, const std::vector<ValueId>& inputs) {
    const Shape query = b.shape(inputs[0]), key = b.shape(inputs[1]), value = b.shape(inputs[2]);
    const Dim B = query[0], T = query[1], N = query[2], K = key[2], S = key[1];
    const DType dtype = b.dtype(inputs[0]);
    const bool is_fused = op.path == graph::AttentionPath::fused;
    // Queries that share a head of the keys are rows of one matrix: (B,K,N/K·T,H).
    const auto heads_first = [&](ValueId x) { return b.transpose(x, {0, 2, 1, 3}); };
    const ValueId scaled = is_fused ? inputs[0] : times(inputs[0], op.scale);
    const ValueId rows = b.reshape(heads_first(scaled), {B, K, N / K * T, query[3]});
    ValueId scores = b.reshape(b.apply(graph::MatMul{false, true}, {rows, heads_first(inputs[1])}), {B, N, T, S});
    if (is_fused) scores = times(wide(scores), op.scale);
    if (op.soft_cap != 0.0) scores = times(b.unary(UnaryFn::tanh, times(scores, 1.0 / op.soft_cap)), op.soft_cap);
    if (op.bias) scores = add(scores, b.cast(inputs[3], b.dtype(scores)));
    const ValueId seen = mask(op, inputs, T, S);
    if (seen != graph::kNone) scores = select(seen, scores, hidden(op.path, dtype));
    ValueId share = b.cast(b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {3}}, {scores}), dtype);
    if (seen != graph::kNone && !is_fused) share = select(seen, share, 0.0);
    const ValueId grouped = b.reshape(share, {B, K, N / K * T, S});
    const ValueId context = b.apply(graph::MatMul{}, {grouped, heads_first(inputs[2])});
    return {b.transpose(b.reshape(context, {B, N, T, value[3]}), {0, 2, 1, 3}), share};
  }

 private:
  ValueId add(ValueId x, ValueId y) { return b.binary(BinaryFn::add, x, y); }
  ValueId multiply(ValueId x, ValueId y) { return b.binary(BinaryFn::multiply, x, y); }
  ValueId times(ValueId x, double factor) { return multiply(x, b.scalar_like(x, factor)); }
  ValueId wide(ValueId x) { return b.cast(x, DType::float32); }
  ValueId select(ValueId condition, ValueId x, double other) {
    return b.apply(graph::Select{}, {condition, x, b.scalar_like(x, other)});
  }

  /// Returns the value of a masked score.
  static double hidden(graph::AttentionPath path, DType dtype) {
    if (path == graph::AttentionPath::fused) return -0.7 * static_cast<double>(std::numeric_limits<float>::max());
    return dtype == DType::float16 ? -3e4 : -1e9;
  }

  /// Returns the conjunction of the masks, causal and window; kNone if there is none.
  ValueId mask(const Attention& op, const std::vector<ValueId>& inputs, Dim T, Dim S) {
    std::vector<ValueId> all(inputs.begin() + 3 + (op.bias ? 1 : 0), inputs.end());
    if (op.causal || op.window) {
      const Shape square{1, 1, T, S};
      const ValueId target = b.apply(graph::Iota{{1, 1, T, 1}, DType::int32, 2}, {});
      const ValueId source = b.apply(graph::Iota{{1, 1, 1, S}, DType::int32, 3}, {});
      if (op.causal) all.push_back(b.binary(BinaryFn::less_equal, source, target));
      if (op.window) {
        const ValueId apart = b.unary(UnaryFn::absolute, b.binary(BinaryFn::subtract, target, source));
        all.push_back(b.binary(BinaryFn::less, apart, b.scalar_like(apart, static_cast<double>(*op.window))));
      }
    }
    ValueId out = graph::kNone;
    for (const ValueId one : all) out = out == graph::kNone ? one : b.binary(BinaryFn::logical_and, out, one);
    return out;
  }

  Builder& b;
};

/// Attention in steps keeps all scores in memory, which the single operation does not. A head with more scores than
/// this remains one operation.
constexpr Dim kMostScores = 512 * 512;

bool is_in_steps(const Graph& graph, const Node& node) {
  const auto* attention = std::get_if<Attention>(&node.op);
  if (attention == nullptr || attention->packed_heads > 0 || attention->varlen > 0 || attention->lse) return false;
  return graph.value(node.inputs[0]).shape[1] * graph.value(node.inputs[1]).shape[1] <= kMostScores;
}

}  // namespace

Graph in_half_steps(Graph graph) {
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  Builder builder(graph);
  Steps steps(builder);
  for (Node& node : nodes) {
    if (node.outputs.empty() || !is_half(graph.value(node.outputs[0]).dtype)) {
      graph.nodes.push_back(std::move(node));
      continue;
    }
    builder.set_layer(node.layer);
    // The result of the steps takes the id of the node's output. Its own id remains without a node.
    const std::size_t first = graph.nodes.size();
    const auto give = [&](std::size_t output, ValueId made) {
      for (std::size_t i = first; i < graph.nodes.size(); ++i) {
        std::ranges::replace(graph.nodes[i].outputs, made, node.outputs[output]);
        std::ranges::replace(graph.nodes[i].inputs, made, node.outputs[output]);
      }
    };
    const auto* linear = std::get_if<graph::Linear>(&node.op);
    const auto* conv = std::get_if<graph::Conv>(&node.op);
    const auto* unary = std::get_if<graph::Unary>(&node.op);
    if (linear != nullptr) {
      give(0, steps.product(*linear, node.inputs));
    } else if (conv != nullptr) {
      give(0, steps.product(*conv, node.inputs));
    } else if (unary != nullptr && Steps::is_gelu(unary->fn)) {
      give(0, steps.gelu(unary->fn, node.inputs[0]));
    } else if (is_in_steps(graph, node)) {
      const auto& op = std::get<Attention>(node.op);
      const auto [context, share] = steps.attention(op, node.inputs);
      give(0, context);
      if (op.scores) give(1, share);
    } else {
      graph.nodes.push_back(std::move(node));
    }
  }
  return graph;
}

}  // namespace attn::gradients
