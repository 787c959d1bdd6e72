// What the operations cost in arithmetic.
//
// An addition, subtraction, multiplication, division or elementary function (exp, tanh, erf, √, …) is 1, as the
// reference backend does them; of branches the longest counts. To compare, choose, round, change a sign or move is 0.
#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/graph/einsum.h"
#include "attn/graph/graph.h"
#include "attn/graph/window.h"

namespace attn::graph {
namespace {

using Factors = std::vector<Factor>;

/// For products of two dimensions, below zero too.
__extension__ using Int128 = __int128;

UInt128 times(std::int64_t a, std::int64_t b) { return static_cast<UInt128>(a) * static_cast<UInt128>(b); }

std::int64_t cost_of(const Unary& op) {
  switch (op.fn) {
    case UnaryFn::linear:
    case UnaryFn::hard_tanh:
    case UnaryFn::hard_shrink:
    case UnaryFn::threshold:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::clip:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return 0;
    case UnaryFn::tanh:
    case UnaryFn::exponential:
    case UnaryFn::soft_shrink:  // x ± a
    case UnaryFn::expm1:
    case UnaryFn::log:
    case UnaryFn::log1p:
    case UnaryFn::log2:
    case UnaryFn::log10:
    case UnaryFn::sqrt:
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
      return 1;
    case UnaryFn::relu:
      return op.a == 0.0 ? 0 : 2;  // a·(x − b)
    case UnaryFn::elu:             // a·(eˣ − 1)
    case UnaryFn::softsign:        // x/(1 + |x|)
    case UnaryFn::tanh_shrink:
    case UnaryFn::sparse_sigmoid:  // ½·(x + 1)
    case UnaryFn::rsqrt:
      return 2;
    case UnaryFn::sigmoid:      // 1/(1 + e⁻ˣ)
    case UnaryFn::selu:         // c·a·(eˣ − 1)
    case UnaryFn::softplus:     // max(x, 0) + log1p(e^−|x|)
    case UnaryFn::log_sigmoid:  // −softplus(−x)
      return 3;
    case UnaryFn::silu:
    case UnaryFn::celu:          // max(0, x) + a·(e^(x/a) − 1)
    case UnaryFn::gelu:          // ½·x·erfc(−x/√2)
    case UnaryFn::hard_sigmoid:  // (x + a)/2a, whose 2a bounds it too
    case UnaryFn::sparse_plus:   // ¼·(x + 1)·(x + 1)
      return 4;
    case UnaryFn::mish:        // x·tanh(softplus(x))
    case UnaryFn::squareplus:  // (x + √(x² + a))/2
    case UnaryFn::hard_silu:
      return 5;
    case UnaryFn::gelu_tanh:
      return 9;  // ½·x·(1 + tanh(c·(x + d·x·x·x)))
  }
  return 1;
}

std::int64_t cost_of(BinaryFn fn) {
  if (fn == BinaryFn::mod) return 2;  // a remainder of the wrong sign is moved
  const bool chooses = fn == BinaryFn::maximum || fn == BinaryFn::minimum;
  return chooses || fn >= BinaryFn::equal ? 0 : 1;
}

// Σ over t in [0, length) of t + first, held within [0, limit].
Int128 ramp(Int128 length, Int128 first, Int128 limit) {
  const Int128 begin = std::clamp<Int128>(-first, 0, length);           // the first t above 0
  const Int128 end = std::clamp<Int128>(limit - first, begin, length);  // the first t at the limit
  const Int128 n = end - begin;
  const Int128 rising = n * (begin + first) + n * (n - 1) / 2;
  return rising + (length - end) * limit;
}

// How many of the T·S pairs of positions causality and the window leave.
UInt128 seen_pairs(const Attention& op, Dim query_length, Dim key_length) {
  if (!op.causal && !op.window) return times(query_length, key_length);
  const Int128 longest = Int128{query_length} + key_length;
  const Int128 window = std::min<Int128>(op.window ? Int128{*op.window} : longest, longest);
  if (window < 1) return 0;
  // Row t sees the positions from t − window + 1 to t, or to t + window − 1 where it may look ahead.
  const Int128 upper = ramp(query_length, op.causal ? 1 : window, key_length);
  return static_cast<UInt128>(upper - ramp(query_length, 1 - window, key_length));
}

// How many cells the windows along one axis read: of those that reach into the padding, the ones inside.
UInt128 cells_read(Dim dim, std::int64_t window, std::int64_t stride, std::int64_t dilation, Padding padding) {
  constexpr std::int64_t kMostCounted = 1 << 20;  // longer windows are taken as full
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

class Counter {
 public:
  Counter(const Graph& graph, const Node& node, Hidden hidden) : graph_(graph), node_(node), hidden_(hidden) {}

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
  void count(const MatMul& op) {
    const int depth = in(0).rank() == 1 || !op.transpose_x ? -1 : -2;
    add("multiply and add", {number(2), out(), axis(0, depth)});
  }
  // All letters are loops around one product of all operands, as NumPy runs it without optimize.
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
    // One input that is only reordered moves data.
    if (operands == 1 && seen.size() == equation.output.size()) return;
    add(operands == 1 ? "add" : "multiply and add", {number(operands), letters});
  }
  void count(const Softmax& op) {
    switch (op.kind) {
      case SoftmaxKind::softmax:
        return each("softmax", 4);  // difference to the maximum, exp, sum, quotient
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
    Factors pairs{query[0], query[2]};
    if (op.varlen > 0) {  // how long the sequences are is known when they come; here, as long as they may be
      pairs.push_back(query[1]);
      append(pairs, number(op.varlen));
    } else if (hidden_ == Hidden::skipped && (op.causal || op.window)) {
      append(pairs, number(seen_pairs(op, static_cast<Dim>(query[1].size), static_cast<Dim>(value[1].size))));
    } else {
      pairs.push_back(query[1]);
      pairs.push_back(op.packed_heads > 0 ? query[1] : axis(1, 1).front());
    }
    attend(op, pairs, query[3], value[3]);
  }
  void count(const Append&) {}
  // How many rows are filled is known when it runs; here, as many as there may be.
  void count(const CachedAttention& op) {
    const Factors query = axes(0);  // (B, T, N, H)
    attend(op, {query[0], query[2], query[1], axis(1, 2).front()}, query[3], axis(2, 3).front());
  }
  // What both kinds of attention do for each pair of a query and a key.
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
    const Shape& kernel = in(1);  // (window…, C/groups, F)
    const int spatial = kernel.rank() - 2;
    Factors cells;
    for (int i = 0; i < spatial; ++i)
      append(cells, windows(i, kernel[i], op.strides, op.dilation, op.padding, axis(1, i)));
    add("multiply and add", {number(2), axis(0, 0), cells, axis(1, spatial), axis(1, spatial + 1)});
    if (op.bias) each("bias", 1);
    each(name_of(op.activation.fn), cost_of(op.activation));
  }
  void count(const Pool& op) {
    if (!op.average) return;
    Factors cells;
    const std::vector<std::int64_t> dense(op.window.size(), 1);
    for (std::size_t i = 0; i < op.window.size(); ++i)
      append(cells, windows(static_cast<int>(i), op.window[i], op.strides, dense, op.padding, number(op.window[i])));
    add("sum", {axis(0, 0), cells, axis(0, -1)});
    each("quotient", 1);
  }
  void count(const Rnn& op) {
    const Factors steps{axis(0, 0).front(), axis(0, 1).front()};
    const Factors units = axis(2, 0);
    add("input: multiply and add", {number(2), steps, axes(1)});
    add("state: multiply and add", {number(2), steps, axes(2)});
    if (op.bias) {
      const bool two = op.cell == RnnCell::gru && op.reset_after;  // of the input, and of the state
      add("bias", {number(two ? 2 : 1), steps, axis(1, 1)});
    }
    add("gates and state", {number(cost_per_unit(op)), steps, units});
  }
  // What only moves, chooses or converts.
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
  void count(const Iota&) { each("start + step·index", 2); }

  [[nodiscard]] const Shape& in(std::size_t i) const { return graph_.value(node_.inputs[i]).shape; }

  // ---- factors
  static Factors number(UInt128 n) { return {{n, kNone, 0}}; }
  static Factors number(std::int64_t n) { return number(static_cast<UInt128>(n)); }
  static Factors number(int n) { return number(static_cast<UInt128>(n)); }
  static Factor size_of_axis(Dim size, ValueId of, int axis) { return {static_cast<UInt128>(size), of, axis}; }
  [[nodiscard]] Factors axis(std::size_t input, int axis) const {
    const Shape& shape = in(input);
    const int at = axis < 0 ? axis + shape.rank() : axis;
    return {size_of_axis(shape[at], node_.inputs[input], at)};
  }
  // All axes of an input, or those before the last `dropped`.
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
  // The query inside a packed input, with the query's own number of heads.
  [[nodiscard]] Factors packed_query(const Attention& op) const {
    Factors query = axes(0);
    query[2] = {query[2].size - times(2, op.packed_heads), kNone, 0};
    return query;
  }
  // Positions times cells of a window along a spatial axis.
  [[nodiscard]] Factors windows(int spatial_axis, std::int64_t window, const std::vector<std::int64_t>& strides,
                                const std::vector<std::int64_t>& dilation, Padding padding, const Factors& taps) const {
    const auto i = static_cast<std::size_t>(spatial_axis);
    const ValueId id = node_.outputs.front();
    const Dim positions = graph_.value(id).shape[spatial_axis + 1];
    const UInt128 cells = cells_read(in(0)[spatial_axis + 1], window, strides[i], dilation[i], padding);
    if (cells != times(positions, window)) return {{cells, node_.inputs[0], spatial_axis + 1, true}};
    Factors factors{size_of_axis(positions, id, spatial_axis + 1)};
    append(factors, taps);
    return factors;
  }
  static void append(Factors& factors, const Factors& more) { factors.insert(factors.end(), more.begin(), more.end()); }

  // ---- terms
  void add(std::string_view what, std::initializer_list<Factors> factors) {
    FlopTerm term{std::string(what), {}};
    for (const Factors& more : factors) append(term.factors, more);
    terms_.push_back(std::move(term));
  }
  // `cost` for every number of the output.
  void each(std::string_view what, std::int64_t cost) {
    if (cost == 1) add(what, {out()});
    if (cost > 1) add(what, {number(cost), out()});
  }

  // Beside the products and biases: the gates' functions, and the new state.
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

  const Graph& graph_;
  const Node& node_;
  Hidden hidden_;
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

std::vector<FlopTerm> flop_terms(const Graph& graph, const Node& node, Hidden hidden) {
  return Counter(graph, node, hidden).terms();
}

UInt128 flops(const Graph& graph, const Node& node, Hidden hidden) {
  UInt128 total = 0;
  for (const FlopTerm& term : flop_terms(graph, node, hidden)) total += term.count();
  return total;
}

}  // namespace attn::graph
