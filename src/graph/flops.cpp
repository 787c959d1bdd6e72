// The arithmetic cost of operations.
//
// Additions, subtractions, multiplications, divisions and elementary functions (exp, tanh, erf, √, …) count 1 as in the
// reference backend, for the most expensive branch. Comparing, selecting, rounding, negating and moving count 0.
#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/graph/einsum.h"
#include "attn/graph/graph.h"
#include "attn/graph/window.h"
#include "cost.h"

namespace attn::graph {
namespace {

using Factors = std::vector<Factor>;

/// An integer type for products of two dimensions, which may also be negative.
__extension__ using Int128 = __int128;

UInt128 times(std::int64_t a, std::int64_t b) { return static_cast<UInt128>(a) * static_cast<UInt128>(b); }

// Returns Σ over t in [0, length) of t + first, clamped to [0, limit].
Int128 ramp(Int128 length, Int128 first, Int128 limit) {
  const Int128 begin = std::clamp<Int128>(-first, 0, length);           // the first t above 0
  const Int128 end = std::clamp<Int128>(limit - first, begin, length);  // the first t at the limit
  const Int128 n = end - begin;
  const Int128 rising = n * (begin + first) + n * (n - 1) / 2;
  return rising + (length - end) * limit;
}

// Returns how many of the T·S pairs of a query and a key causality and the window leave visible.
UInt128 seen_pairs(const Attention& op, Dim query_length, Dim key_length) {
  if (!op.causal && !op.window) return times(query_length, key_length);
  const Int128 longest = Int128{query_length} + key_length;
  const Int128 window = std::min<Int128>(op.window ? Int128{*op.window} : longest, longest);
  if (window < 1) return 0;
  // Row t sees the positions from t − window + 1 to t, or to t + window − 1 if it may look ahead.
  const Int128 upper = ramp(query_length, op.causal ? 1 : window, key_length);
  return static_cast<UInt128>(upper - ramp(query_length, 1 - window, key_length));
}

// Returns the number of cells that all windows along one axis read; cells in the padding do not count.
UInt128 cells_read(Dim dim, std::int64_t window, std::int64_t stride, std::int64_t dilation, Padding padding) {
  constexpr std::int64_t kMostCounted = 1 << 20;  // larger inputs count as if all windows were full
  const Windows windows = windows_of(dim, window, stride, dilation, padding);
  if (padding == Padding::valid || window > kMostCounted) return times(windows.count, window);
  UInt128 cells = 0;
  for (std::int64_t tap = 0; tap < window; ++tap) {
    // Position i reads cell i·stride + shift.
    const std::int64_t shift = tap * dilation - windows.before;
    const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const std::int64_t end = shift >= dim ? 0 : std::min(windows.count, (dim - shift - 1) / stride + 1);
    cells += static_cast<UInt128>(std::max<std::int64_t>(end - first, 0));
  }
  return cells;
}

// The operands of a sliding window: x, the kernel of a convolution, and the result.
struct Sliding {
  ValueId x, kernel, y;
};

// The window's geometry along one spatial axis.
struct Windowing {
  int spatial_axis;
  std::int64_t window, stride, dilation;
  Padding padding;
};

class Counter {
 public:
  Counter(const Graph& graph, const Node& node, HiddenPairs hidden) : graph_(graph), node_(node), hidden_(hidden) {}

  std::vector<FlopTerm> terms() && {
    // Integers and masks take no floating-point operations.
    const ValueId first = node_.inputs.empty() ? node_.outputs.front() : node_.inputs.front();
    if (is_floating(graph_.value(first).dtype)) std::visit([this](const auto& op) { count(op); }, node_.op);
    return std::move(terms_);
  }

 private:
  void count(const Unary& op) { each(name_of(op.fn), cost_of(op)); }
  void count(const Binary& op) { each(name_of(op.fn), cost_of(op.fn)); }
  void count(const Linear& op) {
    add("multiply and add", {number(2), rows(0, op.contracted), axes(1)});
    if (op.bias) each("bias", 1);
    each(name_of(op.activation.fn), cost_of(op.activation));
    if (op.residual) each("residual", 1);
  }
  void count(const Quantize&) {
    add("scale", {number(2), axes(0)});  // the division that gives a row's scale is not counted
  }
  // Integer products count like the floating-point ones that they represent.
  void count(const QuantizedLinear& op) {
    Factors depth;
    for (int i = 0; i < op.contracted; ++i) append(depth, axis(0, in(0).rank() - op.contracted + i));
    add("multiply and add", {number(2), out(), depth});
    if (op.inputs) add("scale of x", {axes(0)});
    each("scale", 1);
    if (op.bias) each("bias", 1);
    each(name_of(op.activation.fn), cost_of(op.activation));
    if (op.residual) each("residual", 1);
  }
  void count(const MatMul& op) {
    const int depth = in(0).rank() == 1 || !op.transpose_x ? -1 : -2;
    add("multiply and add", {number(2), out(), axis(0, depth)});
  }
  // All letters are loops around one product of all operands, as NumPy computes it without `optimize`.
  void count(const Einsum& op) {
    const EinsumEquation equation = parse_einsum(op.equation);
    const auto operands = static_cast<std::int64_t>(equation.inputs.size());
    std::string seen;
    Factors letters;
    for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
      for (std::size_t at = 0; at < equation.inputs[i].size(); ++at) {
        const char letter = equation.inputs[i][at];
        if (seen.find(letter) != std::string::npos) continue;
        seen += letter;
        letters.push_back(axis(i, static_cast<int>(at)).front());
      }
    }
    // Reordering a single input only moves data.
    if (operands == 1 && seen.size() == equation.output.size()) return;
    add(operands == 1 ? "add" : "multiply and add", {number(operands), letters});
  }
  void count(const Softmax& op) {
    switch (op.kind) {
      case SoftmaxKind::softmax:
        return each("softmax", 4);  // subtraction of the maximum, exp, sum, division
      case SoftmaxKind::log_softmax:
        each("log_softmax", 5);
        return add("logarithm per row", {out_without(op.axes)});
      case SoftmaxKind::sparsemax:
        each("sparsemax", 7);
        return add("threshold per row", {number(2), out_without(op.axes)});
    }
  }
  void count(const Attention& op) {
    const Factors query = op.packed_heads > 0 ? packed_query(op) : axes(0);  // (B, T, N, H)
    const Factors value = op.packed_heads > 0 ? query : axes(2);             // (B, S, K, Hv)
    const Factors pairs = seen(op, query, value);
    attend(op, pairs, query[3], value[3]);
    if (op.lse) add("logarithm per row", {number(2), {query[0], query[1], query[2]}});
  }
  // Returns the number of visible pairs of a query and a key, as factors.
  [[nodiscard]] Factors seen(const Attention& op, const Factors& query, const Factors& value) const {
    Factors pairs{query[0], query[2]};
    if (op.varlen > 0) {  // the actual lengths are unknown; the maximum is counted
      pairs.push_back(query[1]);
      append(pairs, number(op.varlen));
    } else if (hidden_ == HiddenPairs::skipped && (op.causal || op.window)) {
      append(pairs, number(seen_pairs(op, static_cast<Dim>(query[1].size), static_cast<Dim>(value[1].size))));
    } else {
      pairs.push_back(query[1]);
      pairs.push_back(op.packed_heads > 0 ? query[1] : axis(1, 1).front());
    }
    return pairs;
  }
  void count(const Append&) {}
  // The number of filled rows is unknown; the maximum is counted.
  void count(const CachedAttention& op) {
    const Factors query = axes(0);  // (B, T, N, H)
    attend(op, {query[0], query[2], query[1], axis(1, 2).front()}, query[3], axis(2, 3).front());
  }
  // The cost of attention per pair of a query and a key, for both operations.
  void attend(const auto& op, const Factors& pairs, const Factor& head_size, const Factor& value_size) {
    add("scores: multiply and add", {number(2), pairs, {head_size}});
    add("scale", {pairs});
    if (op.soft_cap > 0.0) add("soft cap", {number(3), pairs});
    if (op.bias) add("bias", {pairs});
    add("softmax", {number(4), pairs});
    add("weighted values: multiply and add", {number(2), pairs, {value_size}});
  }
  void count(const LayerNorm& op) {
    const bool rms = op.kind == NormKind::rms, centered = op.kind == NormKind::layer;
    if (!rms) each("mean", 1);
    each(rms ? "mean square" : "variance", rms ? 2 : 3);
    each(centered ? "difference to the mean, over the root" : "over the root", centered ? 2 : 1);
    if (op.scale) each("gamma", 1);
    if (op.center) each("beta", 1);
    add("quotients and root per row", {number(rms ? 4 : 5), out_without(op.axes)});
  }
  void count(const BatchNorm& op) {
    each("difference to the mean, over the root", 2);
    if (op.scale) each("gamma", 1);
    if (op.center) each("beta", 1);
    add("root per channel", {number(3), axis(1, 0)});
  }
  void count(const Reduce& op) {
    switch (op.fn) {
      case ReduceFn::sum:
      case ReduceFn::prod:
        return add(name_of(op.fn), {axes(0)});
      case ReduceFn::mean:
        add("sum", {axes(0)});
        return each("quotient", 1);
      case ReduceFn::logsumexp:
        add("difference to the maximum, exp, sum", {number(3), axes(0)});
        return each("logarithm", 2);
      case ReduceFn::max:
      case ReduceFn::min:
      case ReduceFn::any:
      case ReduceFn::all:
      case ReduceFn::argmax:
      case ReduceFn::argmin:
        return;
    }
  }
  void count(const Cumulate& op) { each(op.product ? "product" : "sum", 1); }
  void count(const Conv& op) {
    convolve(op, {node_.inputs[0], node_.inputs[1], node_.outputs[0]});
    if (op.bias) each("bias", 1);
    each(name_of(op.activation.fn), cost_of(op.activation));
  }
  void convolve(const Conv& op, const Sliding& over) {
    const Shape& kernel = graph_.value(over.kernel).shape;  // (window…, C/groups, F)
    const int spatial = kernel.rank() - 2;
    Factors cells;
    for (int i = 0; i < spatial; ++i) {
      const Windowing along{i, kernel[i], op.strides[at(i)], op.dilation[at(i)], op.padding};
      append(cells, windows(over, along, axis_of(over.kernel, i)));
    }
    add("multiply and add",
        {number(2), axis_of(over.x, 0), cells, axis_of(over.kernel, spatial), axis_of(over.kernel, spatial + 1)});
  }
  void count(const Pool& op) {
    if (!op.average) return;
    average(op, {node_.inputs[0], kNone, node_.outputs[0]});
    each("quotient", 1);
  }
  void average(const Pool& op, const Sliding& over) {
    Factors cells;
    for (std::size_t i = 0; i < op.window.size(); ++i) {
      const Windowing along{static_cast<int>(i), op.window[i], op.strides[i], 1, op.padding};
      append(cells, windows(over, along, number(op.window[i])));
    }
    add("sum", {axis_of(over.x, 0), cells, axis_of(over.x, -1)});
  }
  void count(const Rnn& op) {
    const Factors steps{axis(0, 0).front(), axis(0, 1).front()};
    const Factors units = axis(2, 0);
    add("input: multiply and add", {number(2), steps, axes(1)});
    add("state: multiply and add", {number(2), steps, axes(2)});
    if (op.bias) {
      const bool two = op.cell == RnnCell::gru && op.reset_after;  // a bias for the input, and one for the state
      add("bias", {number(two ? 2 : 1), steps, axis(1, 1)});
    }
    add("gates and state", {number(cost_per_unit(op)), steps, units});
  }
  void count(const DeltaRule&) {
    const Factors products = states_of_steps();
    add("state: multiply and add", {number(7), products});
    add("output: multiply and add", {number(2), products});
  }
  void count(const UnaryGrad& op) { each("slope", cost_of_derivative(op.forward) + 1); }
  void count(const AttentionGrad& op) {
    const Attention& forward = op.forward;
    const Factors pairs = seen(forward, axes(0), axes(2));
    const Factors head_size = axis(0, 3), value_size = axis(2, 3);
    add("scores: multiply and add", {number(2), pairs, head_size});
    add("scale", {number(2), pairs});
    if (forward.soft_cap > 0.0) add("soft cap", {number(9), pairs});
    if (forward.bias) add("bias", {number(op.bias ? 2 : 1), pairs});
    add("probabilities", {number(2), pairs});
    add("gradients of the probabilities: multiply and add", {number(2), pairs, value_size});
    if (forward.scores) add("gradients of the scores that are an output", {number(3), pairs});
    add("gradients of the scores", {number(2), pairs});
    add("gradients of the values: multiply and add", {number(2), pairs, value_size});
    add("gradients of query and key: multiply and add", {number(4), pairs, head_size});
    add("context times its gradient", {number(2), axis(0, 0), axis(0, 1), axis(0, 2), value_size});
  }
  void count(const LayerNormGrad& op) {
    const LayerNorm& forward = op.forward;
    const bool rms = forward.kind == NormKind::rms;
    if (!rms) each("mean", 1);
    each(rms ? "mean square" : "variance", rms ? 2 : 3);
    each("over the root", forward.kind == NormKind::rms_layer ? 2 : 1);
    if (forward.scale) each("gamma", 3);
    if (forward.center) each("beta", 1);
    each("means over a row", forward.kind == NormKind::layer ? 3 : 2);
    each("gradient", 4);
    add("quotients and root per row", {number(rms ? 6 : 7), out_without(forward.axes)});
  }
  void count(const BatchNormTraining& op) {
    if (op.mask) each("number", 1);
    each("mean", 1);
    each("variance", 3);
    each("difference to the mean, over the root", 2);
    if (op.scale) each("gamma", 1);
    if (op.center) each("beta", 1);
    add("quotients and root per channel", {number(5), axis_of(node_.outputs[1], 0)});
  }
  void count(const BatchNormGrad& op) {
    if (op.forward.mask) each("number", 1);
    each("difference to the mean, over the root", 2);
    each("sums over a channel", 4);
    each("gradient", 6);
    add("quotients and root per channel", {number(op.forward.scale ? 8 : 7), axis(in_count() - 2, 0)});
  }
  void count(const ScatterAdd&) { add("add", {axes(0)}); }
  void count(const ConvInputGrad& op) { convolve(op.forward, {node_.outputs[0], node_.inputs[0], node_.inputs[1]}); }
  void count(const ConvKernelGrad& op) { convolve(op.forward, {node_.inputs[0], node_.outputs[0], node_.inputs[1]}); }
  void count(const PoolGrad& op) {
    const std::size_t dy = in_count() - 1;
    if (!op.forward.average) return add("add", {axes(dy)});
    average(op.forward, {node_.outputs[0], kNone, node_.inputs[dy]});
    add("quotient", {axes(dy)});
  }
  void count(const RnnGrad& op) {
    const Rnn& forward = op.forward;
    count(forward);
    const Factors steps{axis(0, 0).front(), axis(0, 1).front()};
    const Factors units = axis(2, 0);
    add("gradients of the input and its kernel: multiply and add", {number(4), steps, axes(1)});
    add("gradients of the state and its kernel: multiply and add", {number(4), steps, axes(2)});
    if (forward.bias) {
      const bool two = forward.cell == RnnCell::gru && forward.reset_after;
      add("gradient of the bias", {number(two ? 2 : 1), steps, axis(1, 1)});
    }
    add("gradients of gates and state", {number(gradient_cost_per_unit(forward)), steps, units});
    add("gradients of the outputs", {number(forward.return_sequences ? 2 : 1), steps, units});
    if (!forward.return_sequences) add("gradient of the last output", {axis(0, 0), units});
  }
  void count(const DeltaRuleGrad&) {
    add("state: multiply and add", {number(7), states_of_steps()});
    add("gradients of the state and the inputs: multiply and add", {number(21), states_of_steps()});
  }
  void count(const SoftmaxCrossEntropy&) {
    const bool labels = is_integer(graph_.value(node_.inputs[1]).dtype);
    add("difference to the maximum, exp, sum", {number(3), axes(0)});
    each("logarithm", 2);
    if (labels) return each("difference to the logit", 1);
    add("differences to the logits, by probabilities", {number(3), axes(0)});
  }
  void count(const SoftmaxCrossEntropyGrad&) {
    const bool labels = is_integer(graph_.value(node_.inputs[1]).dtype);
    each("difference to the maximum, exp, sum", 3);
    add("logarithm", {number(2), rows(0, 1)});
    if (!labels) each("sum of probabilities", 1);
    each("gradient", 5);
  }
  void count(const Dropout&) { each("over what is kept", 1); }
  // The additions inside collectives are not counted: their cost is bytes and messages.
  void count(const AllReduce&) {}
  void count(const AllGather&) {}
  void count(const ReduceScatter&) {}
  void count(const Shift&) {}
  // Operations that only move, select or convert.
  void count(const Scatter&) {}
  void count(const Select&) {}
  void count(const Cast&) {}
  void count(const Reshape&) {}
  void count(const Transpose&) {}
  void count(const Broadcast&) {}
  void count(const Concat&) {}
  void count(const Slice&) {}
  void count(const Pad&) {}
  void count(const Gather&) {}
  void count(const Fill&) {}
  void count(const Dequantize&) {}
  void count(const Iota&) { each("start + step·index", 2); }

  [[nodiscard]] const Shape& in(std::size_t i) const { return graph_.value(node_.inputs[i]).shape; }

  // ---- factors
  static Factors number(UInt128 n) { return {{n, kNone, 0}}; }
  static Factors number(std::int64_t n) { return number(static_cast<UInt128>(n)); }
  static Factors number(int n) { return number(static_cast<UInt128>(n)); }
  static Factor size_of_axis(Dim size, ValueId of, int axis) { return {static_cast<UInt128>(size), of, axis}; }
  [[nodiscard]] Factors axis(std::size_t input, int axis) const { return axis_of(node_.inputs[input], axis); }
  [[nodiscard]] Factors axis_of(ValueId id, int axis) const {
    const Shape& shape = graph_.value(id).shape;
    const int at = axis < 0 ? axis + shape.rank() : axis;
    return {size_of_axis(shape[at], id, at)};
  }
  [[nodiscard]] std::size_t in_count() const { return node_.inputs.size(); }
  // Returns the sizes of all axes of an input, or of all but its last `dropped` axes.
  [[nodiscard]] Factors axes(std::size_t input) const { return rows(input, 0); }
  [[nodiscard]] Factors rows(std::size_t input, int dropped) const {
    Factors factors;
    for (int i = 0; i < in(input).rank() - dropped; ++i) append(factors, axis(input, i));
    return factors;
  }
  [[nodiscard]] Factors out() const { return out_without({}); }
  [[nodiscard]] Factors out_without(const std::vector<int>& left_out) const {
    const ValueId id = node_.outputs.front();
    const Shape& shape = graph_.value(id).shape;
    Factors factors;
    for (int i = 0; i < shape.rank(); ++i)
      if (std::find(left_out.begin(), left_out.end(), i) == left_out.end())
        factors.push_back(size_of_axis(shape[i], id, i));
    return factors;
  }
  // Returns the query inside a packed input, with its own number of heads.
  [[nodiscard]] Factors packed_query(const Attention& op) const {
    Factors query = axes(0);
    query[2] = {query[2].size - times(2, op.packed_heads), kNone, 0};
    return query;
  }
  // Returns the number of cells that all positions of a window read along a spatial axis.
  [[nodiscard]] Factors windows(const Sliding& over, const Windowing& along, const Factors& taps) const {
    const int axis = along.spatial_axis + 1;
    const Dim positions = graph_.value(over.y).shape[axis];
    const UInt128 cells =
        cells_read(graph_.value(over.x).shape[axis], along.window, along.stride, along.dilation, along.padding);
    if (cells != times(positions, along.window)) return {{cells, over.x, axis, true}};
    Factors factors{size_of_axis(positions, over.y, axis)};
    append(factors, taps);
    return factors;
  }
  static void append(Factors& factors, const Factors& more) { factors.insert(factors.end(), more.begin(), more.end()); }

  // Returns the elements of all states of a DeltaRule: B·T·H·V·K.
  [[nodiscard]] Factors states_of_steps() const {
    Factors factors = axes(3);
    append(factors, axis(0, 3));
    return factors;
  }

  // ---- terms
  void add(std::string_view what, std::initializer_list<Factors> factors) {
    FlopTerm term{std::string(what), {}};
    for (const Factors& more : factors) append(term.factors, more);
    terms_.push_back(std::move(term));
  }
  // Adds a term of `cost` operations for each element of the output.
  void each(std::string_view what, std::int64_t cost) {
    if (cost == 1) add(what, {out()});
    if (cost > 1) add(what, {number(cost), out()});
  }

  // Operations per unit other than products and biases: the functions of the gates, and the new state.
  static std::int64_t cost_per_unit(const Rnn& op) {
    const std::int64_t activation = cost_of(op.activation);
    const std::int64_t gate = cost_of(op.recurrent_activation);
    switch (op.cell) {
      case RnnCell::simple:
        return activation;
      case RnnCell::lstm:
        return 3 * gate + 2 * activation + 4;  // c = f·c + i·c̃, h = o·tanh(c)
      case RnnCell::gru:
        // Two sums before the gates, r·(…) + … or r·h before the candidate, z·h + (1 − z)·h̃.
        return 2 * gate + activation + 2 + (op.reset_after ? 2 : 1) + 4;
    }
    return 0;
  }
  static std::int64_t gradient_cost_per_unit(const Rnn& op) {
    const std::int64_t activation = cost_of(op.activation), activation_slope = cost_of_derivative(op.activation);
    const std::int64_t gate = cost_of(op.recurrent_activation),
                       gate_slope = cost_of_derivative(op.recurrent_activation);
    switch (op.cell) {
      case RnnCell::simple:
        return activation_slope + 1;
      case RnnCell::lstm:
        return 3 * (gate + gate_slope) + 2 * (activation + activation_slope) + 12;
      case RnnCell::gru:
        return 2 * (gate + gate_slope) + activation + activation_slope + (op.reset_after ? 14 : 16);
    }
    return 0;
  }

  const Graph& graph_;
  const Node& node_;
  HiddenPairs hidden_;
  std::vector<FlopTerm> terms_;
};

}  // namespace

UInt128 FlopTerm::count() const {
  std::vector<UInt128> sizes;
  for (const Factor& factor : factors) sizes.push_back(factor.size);
  const auto product = count_product(sizes);
  if (!product) throw Error(ExitCode::no_memory, fmt::format("'{}' takes more than 2^100 operations", what));
  return *product;
}

std::vector<FlopTerm> flop_terms(const Graph& graph, const Node& node, HiddenPairs hidden) {
  return Counter(graph, node, hidden).terms();
}

UInt128 flops(const Graph& graph, const Node& node, HiddenPairs hidden) {
  UInt128 total = 0;
  for (const FlopTerm& term : flop_terms(graph, node, hidden)) total += term.count();
  return total;
}

}  // namespace attn::graph
