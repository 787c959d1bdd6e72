// What the operations cost in arithmetic. Every count stops at kMaxSize.
#include <algorithm>

#include "attn/base/size.h"
#include "attn/graph/einsum.h"
#include "attn/graph/graph.h"

namespace attn::graph {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) { return checked_mul(a, b).value_or(kMaxSize); }
std::int64_t plus(std::int64_t a, std::int64_t b) { return checked_add(a, b).value_or(kMaxSize); }
std::int64_t elements(const Shape& shape) { return shape.elements().value_or(kMaxSize); }

// One for each addition, multiplication, division, comparison and elementary function of the formula in op.h.
std::int64_t cost_of(UnaryFn fn) {
  switch (fn) {
    case UnaryFn::linear:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return 0;
    case UnaryFn::relu:
    case UnaryFn::tanh:
    case UnaryFn::exponential:
    case UnaryFn::hard_shrink:
    case UnaryFn::threshold:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::expm1:
    case UnaryFn::log:
    case UnaryFn::log1p:
    case UnaryFn::log2:
    case UnaryFn::log10:
    case UnaryFn::sqrt:
    case UnaryFn::rsqrt:
    case UnaryFn::square:
    case UnaryFn::reciprocal:
    case UnaryFn::sin:
    case UnaryFn::cos:
    case UnaryFn::tan:
    case UnaryFn::asin:
    case UnaryFn::acos:
    case UnaryFn::atan:
    case UnaryFn::sinh:
    case UnaryFn::cosh:
    case UnaryFn::asinh:
    case UnaryFn::acosh:
    case UnaryFn::atanh:
    case UnaryFn::erf:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
      return 1;
    case UnaryFn::clip:
    case UnaryFn::hard_tanh:
    case UnaryFn::softplus:  // log1p(eˣ)
    case UnaryFn::tanh_shrink:
    case UnaryFn::soft_shrink:
      return 2;
    case UnaryFn::elu:          // x > 0, eˣ − 1, ·a
    case UnaryFn::sigmoid:      // 1/(1 + e⁻ˣ)
    case UnaryFn::log_sigmoid:  // −log(1 + e⁻ˣ)
    case UnaryFn::softsign:
      return 3;  // x/(1 + |x|)
    case UnaryFn::selu:
    case UnaryFn::silu:
    case UnaryFn::mish:  // x·tanh(softplus(x))
    case UnaryFn::hard_sigmoid:
    case UnaryFn::sparse_sigmoid:
      return 4;
    case UnaryFn::celu:
    case UnaryFn::gelu:  // x·(1 + erf(x·c))·½
    case UnaryFn::squareplus:
    case UnaryFn::hard_silu:
    case UnaryFn::sparse_plus:
      return 5;
    case UnaryFn::gelu_tanh:
      return 8;  // ½·x·(1 + tanh(c·(x + d·x³)))
  }
  return 1;
}

bool is_logic(BinaryFn fn) {
  return fn == BinaryFn::logical_and || fn == BinaryFn::logical_or || fn == BinaryFn::logical_xor;
}

// Σ over t in [0, length) of t + first, held within [0, limit].
std::int64_t ramp(std::int64_t length, std::int64_t first, std::int64_t limit) {
  const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, length);           // the first t above 0
  const std::int64_t end = std::clamp<std::int64_t>(limit - first, begin, length);  // the first t at the limit
  const std::int64_t n = end - begin;
  const std::int64_t rising = n * (begin + first) + n * (n - 1) / 2;
  return rising + (length - end) * limit;
}

// How many of the T·S pairs of positions causality and the window leave.
std::int64_t seen_pairs(const Attention& op, Dim query_length, Dim key_length) {
  const auto all = checked_mul(query_length, key_length);
  if (!all || (!op.causal && !op.window)) return all.value_or(kMaxSize);
  const std::int64_t longest = query_length + key_length;
  const std::int64_t window = std::min(op.window.value_or(longest), longest);
  if (window < 1) return 0;
  // Row t sees the positions from t − window + 1 to t, or to t + window − 1 where it may look ahead.
  const std::int64_t upper = ramp(query_length, op.causal ? 1 : window, key_length);
  return upper - ramp(query_length, 1 - window, key_length);
}

class Counter {
 public:
  Counter(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  std::int64_t operator()(const Unary& op) const { return times(cost_of(op.fn), out()); }
  std::int64_t operator()(const Binary& op) const { return is_logic(op.fn) ? 0 : out(); }
  std::int64_t operator()(const Linear& op) const {
    const Shape& kernel = in(1);
    const std::int64_t depth = elements(kernel.slice(0, op.contracted));
    const std::int64_t extra = cost_of(op.activation.fn) + (op.bias ? 1 : 0) + (op.residual ? 1 : 0);
    return times(out(), plus(times(2, depth), extra));
  }
  std::int64_t operator()(const MatMul& op) const {
    const Shape& x = in(0);
    const Dim depth = x.rank() == 1 ? x[0] : (op.transpose_x ? x[-2] : x[-1]);
    return times(times(2, depth), out());
  }
  // All letters are loops around one product of all operands, as NumPy runs it without optimize.
  std::int64_t operator()(const Einsum& op) const {
    const EinsumEquation equation = parse_einsum(op.equation);
    std::string seen;
    std::int64_t product = std::max<std::int64_t>(static_cast<std::int64_t>(equation.inputs.size()), 1);
    for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
      for (std::size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
        const char letter = equation.inputs[i][axis];
        if (seen.find(letter) != std::string::npos) continue;
        seen += letter;
        product = times(product, in(i)[static_cast<int>(axis)]);
      }
    }
    // One input that is only reordered moves data.
    const bool moves = equation.inputs.size() == 1 && seen.size() == equation.output.size();
    return moves ? 0 : product;
  }
  // Maximum, difference, exp, sum, quotient.
  std::int64_t operator()(const Softmax&) const { return times(5, out()); }
  std::int64_t operator()(const Attention& op) const {
    Shape query = in(0);                                       // (B, T, N, H)
    const Shape& value = op.packed_heads > 0 ? query : in(2);  // (B, S, K, Hv)
    if (op.packed_heads > 0) query[2] -= 2 * op.packed_heads;
    // How long the sequences in one batch entry are is known when they come; here all are as long as they may be.
    const std::int64_t seen =
        op.varlen > 0 ? times(query[1], op.varlen) / (op.causal ? 2 : 1) : seen_pairs(op, query[1], value[1]);
    const std::int64_t pairs = times(times(query[0], query[2]), seen);
    const std::int64_t products = times(2, plus(query[3], value[3]));  // QKᵀ, and probabilities · V
    return times(pairs, plus(products, 1 + 5));                        // and scale and softmax
  }
  // Mean, difference, square, sum, quotient by the root; then gamma and beta.
  std::int64_t operator()(const LayerNorm& op) const {
    const std::int64_t statistics = op.kind == NormKind::rms ? 3 : 5;
    return times(statistics + (op.scale ? 1 : 0) + (op.center ? 1 : 0), out());
  }
  std::int64_t operator()(const BatchNorm& op) const {
    return times(2 + (op.scale ? 1 : 0) + (op.center ? 1 : 0), out());
  }
  std::int64_t operator()(const Reduce& op) const {
    if (op.fn == ReduceFn::any || op.fn == ReduceFn::all) return 0;
    return times(op.fn == ReduceFn::logsumexp ? 3 : 1, elements(in(0)));
  }
  std::int64_t operator()(const Cumulate&) const { return out(); }
  std::int64_t operator()(const Conv& op) const {
    const Shape& kernel = in(1);  // (window…, C/groups, F)
    const std::int64_t depth = elements(kernel.slice(0, kernel.rank() - 1));
    return times(out(), plus(times(2, depth), cost_of(op.activation.fn) + (op.bias ? 1 : 0)));
  }
  std::int64_t operator()(const Pool& op) const { return times(out(), checked_product(op.window).value_or(kMaxSize)); }
  std::int64_t operator()(const Rnn& op) const {
    const Shape& x = in(0);          // (B, T, D)
    const Shape& recurrent = in(2);  // (U, g·U)
    const std::int64_t steps = times(x[0], x[1]);
    const std::int64_t products = times(times(2, plus(x[2], recurrent[0])), recurrent[1]);
    return times(steps, plus(products, times(recurrent[0], cost_per_unit(op))));
  }
  // What only moves, chooses or converts.
  std::int64_t operator()(const Select&) const { return 0; }
  std::int64_t operator()(const Cast&) const { return 0; }
  std::int64_t operator()(const Reshape&) const { return 0; }
  std::int64_t operator()(const Transpose&) const { return 0; }
  std::int64_t operator()(const Broadcast&) const { return 0; }
  std::int64_t operator()(const Concat&) const { return 0; }
  std::int64_t operator()(const Slice&) const { return 0; }
  std::int64_t operator()(const Pad&) const { return 0; }
  std::int64_t operator()(const Gather&) const { return 0; }
  std::int64_t operator()(const Iota&) const { return 0; }
  std::int64_t operator()(const Fill&) const { return 0; }

 private:
  const Shape& in(std::size_t i) const { return graph_.value(node_.inputs[i]).shape; }
  std::int64_t out() const { return elements(graph_.value(node_.outputs.front()).shape); }

  // Beside the two products: the sum of both and the bias, the gates' functions, and the new state.
  static std::int64_t cost_per_unit(const Rnn& op) {
    const std::int64_t activation = cost_of(op.activation.fn);
    const std::int64_t gate = cost_of(op.recurrent_activation.fn);
    const std::int64_t bias = op.bias ? 1 : 0;
    switch (op.cell) {
      case RnnCell::simple:
        return 1 + bias + activation;
      case RnnCell::lstm:
        return 4 * (1 + bias) + 3 * gate + 2 * activation + 4;  // c = f·c + i·c̃, h = o·tanh(c)
      case RnnCell::gru:
        return 3 * (1 + bias) + 2 * gate + activation + 5;  // r·h, z·h + (1 − z)·h̃
    }
    return 0;
  }

  const Graph& graph_;
  const Node& node_;
};

}  // namespace

std::int64_t flops(const Graph& graph, const Node& node) { return std::visit(Counter(graph, node), node.op); }

}  // namespace attn::graph
