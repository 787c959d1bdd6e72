// Exports attention: as ONNX's Attention operator if it is equivalent, otherwise as its parts.
#include <limits>

#include "emit.h"

namespace attn::onnx {
namespace {

using graph::AttentionPath;

constexpr int kWithAttention = 23;                                    // the operator set that added it
constexpr double kHidden = -0.7 * std::numeric_limits<float>::max();  // the score of a masked key in the fused path

/// The parts of an attention. Arrays (B,T,N,H) are transposed to ONNX's order (B,N,T,H).
struct Parts {
  const Step& step;
  const graph::Attention& op;
  Emitter& e = step.emitter;

  [[nodiscard]] Name heads_first(std::size_t i) const { return e.transpose(step.in[i], {0, 2, 1, 3}); }
  [[nodiscard]] Name heads_after_positions(const Name& x) const { return e.transpose(x, {0, 2, 1, 3}); }

  [[nodiscard]] Size length(std::size_t i) const {
    return e.size([&](const graph::Graph& graph) { return graph.value(step.node.inputs[i]).shape[1]; });
  }

  /// Returns the positions of queries as a column, or of keys as a row.
  [[nodiscard]] Term places(std::size_t i, bool column) const {
    const Name range = e.range(length(i));
    return {&e, column ? e.node("Unsqueeze", {range, e.ints({1})}) : range, DType::int64};
  }

  /// Returns the mask by causality and the window; empty if every score counts.
  [[nodiscard]] std::optional<Term> by_place() const {
    if (!op.causal && !op.window) return std::nullopt;
    const Term queries = places(0, true), keys = places(1, false);
    std::optional<Term> sees;
    if (op.causal) sees = !(queries < keys);
    if (op.window) {
      const Term near = (queries - keys).apply("Abs") < static_cast<double>(*op.window);
      sees = sees ? *sees && near : near;
    }
    return sees;
  }

  [[nodiscard]] std::optional<Term> by_masks() const {
    std::optional<Term> sees;
    for (std::size_t i = op.bias ? 4 : 3; i < step.in.size(); ++i) sees = sees ? *sees && step.term(i) : step.term(i);
    return sees;
  }

  [[nodiscard]] std::optional<Term> sees() const {
    const auto place = by_place(), masks = by_masks();
    if (place && masks) return *place && *masks;
    return place ? place : masks;
  }

  /// Expands a bias or mask to all rows and columns, which runtimes require.
  [[nodiscard]] Term whole(const Term& bias) const {
    const Sizes all{Size::of(1), Size::of(1), length(0), length(1)};
    return {&e, e.expand(bias.name, all), bias.dtype};
  }

  /// Returns keys or values as (B,N,S,H), in which each head is repeated for the query heads that read it.
  [[nodiscard]] Name repeated(std::size_t i) const {
    const Dim queries = step.input(0).shape[2], heads = step.input(1).shape[2];
    if (queries == heads) return heads_first(i);
    Sizes from = step.in_sizes(i), to = from;
    to[2] = Size::of(queries);
    Name x = e.node("Unsqueeze", {step.in[i], e.ints({3})});
    x = e.node("Expand", {x, e.ints({1, 1, 1, queries / heads, 1})});
    Sizes wide = from;
    wide.insert(wide.begin() + 3, Size::of(queries / heads));
    return heads_after_positions(e.node("Reshape", {x, e.ints({0, 0, queries, step.input(i).shape[3]})}));
  }

  [[nodiscard]] Names by_operator() const {
    const DType dtype = step.input(0).dtype;
    std::vector<Attribute> attributes{{"scale", op.scale}};
    std::optional<Term> bias;
    if (op.bias) bias = step.term(3);
    // A row whose keys are hidden partly by causality and partly by the mask averages over all values, so one mask must
    // hold both.
    const bool causal = op.causal && !op.window && op.masks == 0;
    if (causal) attributes.push_back({"is_causal", std::int64_t{1}});
    if (const auto counts = causal ? std::nullopt : sees()) {
      const Term zero{&e, e.scalar(dtype, 0.0), dtype};
      bias = where(*counts, bias.value_or(zero), zero.number(kHidden));
    }
    Names inputs{heads_first(0), heads_first(1), heads_first(2)};
    if (bias) inputs.push_back(whole(*bias).name);
    if (!op.scores) return {heads_after_positions(e.node("Attention", inputs, attributes))};
    attributes.push_back({"qk_matmul_output_mode", std::int64_t{3}});  // scores after the softmax
    const Names made = e.nodes("Attention", inputs, 4, attributes);
    return {heads_after_positions(made[0]), made[3]};
  }

  [[nodiscard]] Names by_parts() const {
    const bool fused = op.path == AttentionPath::fused;
    const DType dtype = step.input(0).dtype;
    const Term query{&e, heads_first(0), dtype}, value{&e, repeated(2), dtype};
    const Term keys{&e, e.transpose(repeated(1), {0, 1, 3, 2}), dtype};
    // The fused path computes scores in float32 for any dtype; the other one scales the query.
    Term scores =
        fused ? widened(query).apply("MatMul", {widened(keys)}) * op.scale : (query * op.scale).apply("MatMul", {keys});
    if (op.soft_cap > 0.0) scores = (scores / op.soft_cap).apply("Tanh") * op.soft_cap;
    if (op.bias) scores = scores + step.term(3).cast(scores.dtype);
    const auto counts = sees();
    const double hidden = fused ? kHidden : dtype == DType::float16 ? -3e4 : -1e9;
    if (counts) scores = where(*counts, scores, scores.number(hidden));
    Term shares = scores.apply("Softmax", {}, {{"axis", std::int64_t{-1}}});
    if (counts && !fused) shares = where(*counts, shares, shares.number(0.0));
    shares = shares.cast(dtype);
    Names out{heads_after_positions(shares.apply("MatMul", {value}).name)};
    if (op.scores) out.push_back(shares.name);
    return out;
  }
};

}  // namespace

Names emit(const Step& step, const graph::Attention& op) {
  if (op.packed_heads > 0 || op.varlen > 0 || op.lse) no_counterpart(step);
  const Parts parts{step, op};
  const bool masked = op.masks > 0 || op.causal || op.window;
  const DType dtype = step.input(0).dtype;
  const bool single = dtype == DType::float32 || dtype == DType::float64;
  const bool same_rows = op.path == AttentionPath::fused || !masked;
  const bool grouped = step.input(0).shape[2] != step.input(1).shape[2];
  const bool one_operator =
      step.emitter.opset() >= kWithAttention && single && same_rows && op.soft_cap == 0.0 && !grouped;
  return one_operator ? parts.by_operator() : parts.by_parts();
}

}  // namespace attn::onnx
