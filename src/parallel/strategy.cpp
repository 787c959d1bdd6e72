#include "strategy.h"

#include <algorithm>

namespace attn::parallel {
namespace {

using graph::at;
using graph::kNone;
using graph::Node;
using graph::ValueId;
using Method = Strategy::Method;

std::vector<Layout> all_whole(const Node& node) { return std::vector<Layout>(node.inputs.size()); }

Split with_axis(const Split& split, int axis) { return {axis, split.sizes}; }

/// Returns the layouts in which attention's gradient needs its inputs if the rows of the batch are sharded.
std::vector<Layout> rows_of(const graph::Graph& graph, const Node& node, const graph::AttentionGrad& op,
                            const Split& rows) {
  std::vector<Layout> inputs(node.inputs.size(), rows);
  const auto shape = [&](std::size_t i) { return graph.value(node.inputs[i]).shape; };
  const Shape scores{shape(0)[0], shape(0)[2], shape(0)[1], shape(1)[1]};
  const std::size_t hidden = 3U + (op.forward.bias ? 1U : 0U) + static_cast<std::size_t>(op.forward.masks);
  for (std::size_t i = 3; i < hidden; ++i)
    if (axis_below(scores, shape(i), 0) == kNone) inputs[i].reset();
  return inputs;
}

/// Returns the layouts in which a recurrent layer's gradient needs its inputs if the rows of the batch are sharded: all
/// except the weights are sharded too.
std::vector<Layout> rows_of(const graph::RnnGrad& op, const Node& node, const Split& rows) {
  std::vector<Layout> inputs(node.inputs.size(), rows);
  const std::size_t weights = op.forward.bias ? 4 : 3;
  for (std::size_t i = 1; i < weights; ++i) inputs[i].reset();
  return inputs;
}

}  // namespace

Strategies::Strategies(const graph::Graph& graph, Kind kind, int ranks)
    : graph_(graph),
      kind_(kind),
      ranks_(ranks),
      fixed_(graph::fixed_values(graph)),
      shardable_(find_shardable_axes(graph, kind, ranks, fixed_)),
      readers_(graph.values.size(), 0),
      is_output_(graph.values.size(), false) {
  for (const Node& node : graph.nodes)
    for (const ValueId input : node.inputs) ++readers_[at(input)];
  for (const graph::Output& output : graph.outputs) is_output_[at(output.value)] = true;
}

std::optional<Split> Strategies::split_of(ValueId value, int axis) const {
  const auto found = shardable_[at(value)].find(axis);
  if (found == shardable_[at(value)].end()) return std::nullopt;
  const Dim size = shape(value)[axis], groups = found->second;
  if (kind_ == Kind::tensor) return Split{axis, shares_of_axis(size, groups, ranks_)};
  Split split{axis, shares(groups, ranks_)};  // shards of rows and positions are not multiples of 64
  for (Dim& each : split.sizes) each *= size / groups;
  return split;
}

Strategy Strategies::strategy(const Node& node, std::size_t output, const Layout& layout) const {
  return layout ? part(node, output, *layout) : whole(node, output);
}

Strategy Strategies::whole(const Node& node, std::size_t output) const {
  const Strategy as_ever{Method::whole, {}, all_whole(node)};
  const ValueId value = node.outputs[output];
  const auto gathered = [&](int axis) {
    const auto split = split_of(value, axis);
    return split ? Strategy{Method::gather, *split, {}} : as_ever;
  };
  if (kind_ != Kind::tensor) {
    // Masks and indices that depend only on tokens are cheaper to recompute than to gather.
    const auto is_counted = [&](ValueId id) { return is_floating(graph_.value(id).dtype); };
    const ShardableAxes& shardable = shardable_[at(value)];
    const bool is_cheap = !is_counted(value) && std::ranges::none_of(node.inputs, is_counted);
    if (is_cheap) return as_ever;
    if (!shardable.empty()) return gathered(shardable.begin()->first);
    return kind_ == Kind::data ? sum(node, output).value_or(as_ever) : as_ever;
  }
  if (const auto* linear = std::get_if<graph::Linear>(&node.op)) {
    const Shape &x = shape(node.inputs[0]), &kernel = shape(node.inputs[1]);
    const int rows = x.rank() - linear->contracted;
    if (const auto split = split_of(node.inputs[0], rows); split && fixed_[at(node.inputs[1])] && !linear->residual) {
      Strategy strategy{Method::row_sum, *split, all_whole(node)};
      strategy.inputs[0] = split;
      strategy.inputs[1] = with_axis(*split, 0);
      return strategy;
    }
    // Minimum ratio of columns to rows by which a product counts as logits over a vocabulary.
    constexpr Dim kMany = 4;
    const bool is_wide = kernel.rank() == linear->contracted + 1 && kernel.back() >= kMany * kernel[0];
    if (is_wide || (is_output_[at(value)] && readers_[at(value)] == 0)) return gathered(rows);
  }
  if (const auto* gather = std::get_if<graph::Gather>(&node.op)) {
    const Shape &table = shape(node.inputs[0]), &indices = shape(node.inputs[1]);
    // A table that is smaller than its lookups is not worth a collective.
    const bool is_large = table[0] > indices.size() && table[0] >= ranks_;
    if (gather->axis == 0 && is_large && fixed_[at(node.inputs[0])] && is_floating(graph_.value(value).dtype)) {
      const Split split{0, shares_of_axis(table[0], table[0], ranks_)};
      return {Method::look_up, split, {split, std::nullopt}};
    }
  }
  if (std::holds_alternative<graph::Attention>(node.op)) return gathered(output == 0 ? 2 : 1);
  return as_ever;
}

Strategy Strategies::part(const Node& node, std::size_t output, const Split& split) const {
  const Strategy cut{Method::cut, split, {}};
  const ValueId value = node.outputs[output];
  Strategy strategy{Method::part, split, all_whole(node)};
  const auto& in = node.inputs;

  if (fixed_[at(value)]) {  // weights, possibly moved or cast: a rank keeps only its shard in memory
    if (std::holds_alternative<graph::Cast>(node.op) || std::holds_alternative<graph::Unary>(node.op)) {
      strategy.inputs[0] = split;
      return strategy;
    }
    if (const auto* transpose = std::get_if<graph::Transpose>(&node.op)) {
      strategy.inputs[0] = with_axis(split, transpose->permutation[at(split.axis)]);
      return strategy;
    }
    return cut;
  }
  if (std::holds_alternative<graph::Fill>(node.op)) return strategy;
  if (!shardable_[at(value)].contains(split.axis) && !std::holds_alternative<graph::Broadcast>(node.op)) return cut;

  const auto broadcasting = [&](std::size_t from) {
    for (std::size_t i = from; i < in.size(); ++i) {
      const int below = axis_below(shape(value), shape(in[i]), split.axis);
      if (below != kNone) strategy.inputs[i] = with_axis(split, below);
    }
    return strategy;
  };
  const auto first_only = [&] {
    strategy.inputs[0] = split;
    return strategy;
  };

  return std::visit(
      graph::Overloaded{
          [&](const graph::Unary&) { return broadcasting(0); },
          [&](const graph::Cast&) { return broadcasting(0); },
          [&](const graph::Binary&) { return broadcasting(0); },
          [&](const graph::Select&) { return broadcasting(0); },
          [&](const graph::Broadcast&) { return broadcasting(0); },
          [&](const graph::Softmax&) { return first_only(); },
          [&](const graph::LayerNorm&) { return first_only(); },
          [&](const graph::BatchNorm&) { return first_only(); },
          [&](const graph::Cumulate&) { return first_only(); },
          [&](const graph::Slice&) { return first_only(); },
          [&](const graph::Pad&) { return first_only(); },
          [&](const graph::Conv&) { return first_only(); },
          [&](const graph::Pool&) { return first_only(); },
          [&](const graph::Linear& op) {
            const int rows = shape(in[0]).rank() - op.contracted;
            if (split.axis < rows) return first_only();
            strategy.inputs[1] = with_axis(split, op.contracted + split.axis - rows);
            if (op.bias) strategy.inputs[2] = with_axis(split, split.axis - rows);
            return strategy;
          },
          [&](const graph::MatMul& op) {
            const int last = shape(value).rank() - 1;
            if (split.axis == last - 1) {
              strategy.inputs[0] = with_axis(split, op.transpose_x ? last : last - 1);
            } else if (split.axis == last) {
              strategy.inputs[1] = with_axis(split, op.transpose_y ? last - 1 : last);
            } else {
              for (std::size_t i = 0; i < 2; ++i)
                if (shape(in[i])[split.axis] != 1) strategy.inputs[i] = split;
            }
            return strategy;
          },
          [&](const graph::Reduce& op) {
            int axis = split.axis;
            if (!op.keepdims)
              for (const int reduced : op.axes) axis += reduced <= axis ? 1 : 0;
            strategy.inputs[0] = with_axis(split, axis);
            return strategy;
          },
          [&](const graph::Reshape&) {
            for (const auto& [axis, groups] : shardable_[at(in[0])]) {
              const MovedAxis moved = axis_after_reshape(shape(in[0]), shape(value), axis);
              if (moved.axis != split.axis) continue;
              Split before = with_axis(split, axis);
              for (Dim& size : before.sizes) {
                if (size % moved.factor != 0) return cut;
                size = size / moved.factor * moved.divisor;
              }
              strategy.inputs[0] = before;
              return strategy;
            }
            return cut;
          },
          [&](const graph::Transpose& op) {
            strategy.inputs[0] = with_axis(split, op.permutation[at(split.axis)]);
            return strategy;
          },
          [&](const graph::Concat&) {
            std::ranges::fill(strategy.inputs, Layout(split));
            return strategy;
          },
          [&](const graph::Gather& op) {
            const int indices = shape(in[1]).rank();
            if (split.axis >= op.axis && split.axis < op.axis + indices) {
              strategy.inputs[1] = with_axis(split, split.axis - op.axis);
            } else {
              strategy.inputs[0] = with_axis(split, split.axis < op.axis ? split.axis : split.axis - indices + 1);
            }
            return strategy;
          },
          [&](const graph::Rnn& op) {
            strategy.inputs[0] = split;
            const std::size_t weights = 3U + (op.bias ? 1U : 0U);
            for (std::size_t i = weights; i < in.size(); ++i) strategy.inputs[i] = with_axis(split, 0);
            return strategy;
          },
          [&](const graph::DeltaRule&) {
            std::ranges::fill(strategy.inputs, Layout(split));
            return strategy;
          },
          [&](const graph::Attention& op) {
            // The axis of the scores (B, N, T, S).
            const int of_scores = output == 0 ? (split.axis == 0 ? 0 : 3 - split.axis) : split.axis;
            const Shape scores{shape(in[0])[0], shape(in[0])[2], shape(in[0])[1], shape(in[1])[1]};
            for (std::size_t i = 3; i < in.size(); ++i) {
              const int below = axis_below(scores, shape(in[i]), of_scores);
              if (below != kNone) strategy.inputs[i] = with_axis(split, below);
            }
            const int of_query = of_scores == 0 ? 0 : 3 - of_scores;
            strategy.inputs[0] = with_axis(split, of_query);
            const auto keys_of_ranks = split_of(in[1], 1), values_of_ranks = split_of(in[2], 1);
            if (of_scores == 2 && !op.scores && !op.lse && keys_of_ranks && keys_of_ranks == values_of_ranks) {
              strategy.how = Method::ring;
              strategy.inputs[1] = strategy.inputs[2] = keys_of_ranks;
            }
            if (of_scores == 0) strategy.inputs[1] = strategy.inputs[2] = strategy.inputs[0];
            if (of_scores == 1) {
              const Dim group = shape(in[0])[2] / shape(in[1])[2];
              Split keys = with_axis(split, 2);
              const bool fits = std::ranges::all_of(keys.sizes, [&](Dim size) { return size % group == 0; });
              for (Dim& size : keys.sizes) size /= group;
              if (fits && shardable_[at(in[1])].contains(2) && shardable_[at(in[2])].contains(2))
                strategy.inputs[1] = strategy.inputs[2] = keys;
            }
            return strategy;
          },
          [&](const graph::UnaryGrad&) { return broadcasting(0); },
          [&](const graph::Dropout&) { return first_only(); },
          [&](const graph::Scatter&) { return first_only(); },
          [&](const graph::LayerNormGrad&) {
            strategy.inputs.back() = split;
            return first_only();
          },
          [&](const graph::SoftmaxCrossEntropy&) {
            std::ranges::fill(strategy.inputs, Layout(split));
            return strategy;
          },
          [&](const graph::SoftmaxCrossEntropyGrad&) {
            std::ranges::fill(strategy.inputs, Layout(split));
            return strategy;
          },
          [&](const graph::AttentionGrad& op) {
            strategy.inputs = rows_of(graph_, node, op, split);
            return strategy;
          },
          [&](const graph::ScatterAdd& op) {
            const int indices = shape(in[1]).rank();
            strategy.inputs[0] = with_axis(split, split.axis < op.axis ? split.axis : split.axis + indices - 1);
            return strategy;
          },
          [&](const graph::ConvInputGrad&) {
            strategy.inputs[1] = split;
            return strategy;
          },
          [&](const graph::PoolGrad&) {
            std::ranges::fill(strategy.inputs, Layout(split));
            return strategy;
          },
          [&](const graph::RnnGrad& op) {
            strategy.inputs = rows_of(op, node, split);
            return strategy;
          },
          [&](const graph::DeltaRuleGrad&) {
            std::ranges::fill(strategy.inputs, Layout(split));
            return strategy;
          },
          [&](const auto&) { return Strategy(cut); }},
      node.op);
}

std::optional<Strategy> Strategies::sum(const Node& node, std::size_t output) const {
  const auto& in = node.inputs;
  Strategy strategy{Method::sum, {}, all_whole(node)};
  /// Shards axis `axis` of input i and axis `other` of input k alike, if either of them can be sharded.
  const auto both = [&](std::size_t i, int axis, std::size_t k, int other) -> std::optional<Strategy> {
    auto split = split_of(in[i], axis);
    if (!split) split = split_of(in[k], other);
    if (!split) return std::nullopt;
    strategy.split = with_axis(*split, axis);
    strategy.inputs[i] = strategy.split;
    strategy.inputs[k] = with_axis(*split, other);
    return strategy;
  };
  const auto none = std::optional<Strategy>();
  return std::visit(
      graph::Overloaded{[&](const graph::Reduce& op) {
                          const bool adds = op.fn == graph::ReduceFn::sum || op.fn == graph::ReduceFn::mean;
                          if (!adds && op.fn != graph::ReduceFn::max) return none;
                          for (const int axis : op.axes)
                            if (split_of(in[0], axis)) return both(0, axis, 0, axis);
                          return none;
                        },
                        [&](const graph::MatMul& op) {
                          const int x = shape(in[0]).rank(), y = shape(in[1]).rank();
                          if (x < 2 || y < 2) return none;
                          return both(0, op.transpose_x ? x - 2 : x - 1, 1, op.transpose_y ? y - 1 : y - 2);
                        },
                        [&](const graph::ScatterAdd& op) {
                          // If fewer numbers are added than the table has, they are gathered instead, which costs half
                          // of an all-reduce.
                          if (shape(in[0]).size() < 2 * shape(node.outputs[0]).size()) return none;
                          for (int axis = 0; axis < shape(in[1]).rank(); ++axis)
                            if (const auto found = both(0, op.axis + axis, 1, axis)) return found;
                          return none;
                        },
                        [&](const graph::LayerNormGrad& op) {
                          for (int axis = 0; output > 0 && axis < shape(in[0]).rank(); ++axis) {
                            if (std::ranges::find(op.forward.axes, axis) != op.forward.axes.end()) continue;
                            if (const auto found = both(0, axis, in.size() - 1, axis)) return found;
                          }
                          return none;
                        },
                        [&](const graph::AttentionGrad& op) {
                          const auto rows = split_of(in[0], 0);
                          if (!rows) return none;
                          strategy.split = *rows;
                          strategy.inputs = rows_of(graph_, node, op, *rows);
                          return std::optional(strategy);
                        },
                        [&](const graph::ConvKernelGrad&) { return both(0, 0, 1, 0); },
                        [&](const graph::RnnGrad& op) {
                          const auto rows = split_of(in[0], 0);
                          if (!rows) return none;
                          strategy.split = *rows;
                          strategy.inputs = rows_of(op, node, *rows);
                          return std::optional(strategy);
                        },
                        [&](const auto&) { return none; }},
      node.op);
}

std::optional<int> axis_of_other(const graph::Graph& graph, const Node& node, std::size_t output, int axis,
                                 std::size_t other) {
  if (output == other) return axis;
  const auto shape = [&](std::size_t i) { return graph.value(node.outputs[i]).shape; };
  if (std::holds_alternative<graph::Attention>(node.op)) {
    // Maps between the axes of the context (B,T,N,H), the scores (B,N,T,S) and the log-sum-exp (B,N,T).
    return axis == 0 || (output != 0 && other != 0) ? axis : 3 - axis;
  }
  if (std::holds_alternative<graph::LayerNormGrad>(node.op)) return std::nullopt;
  if (std::holds_alternative<graph::AttentionGrad>(node.op)) {
    constexpr std::size_t kBias = 3;
    const bool is_part = other != kBias || (shape(kBias).rank() == 4 && shape(kBias)[0] == shape(0)[0]);
    return is_part ? std::optional(0) : std::nullopt;
  }
  if (const auto* rnn = std::get_if<graph::RnnGrad>(&node.op)) {
    const std::size_t weights = rnn->forward.bias ? 4 : 3;
    return other == 0 || other >= weights ? std::optional(0) : std::nullopt;
  }
  return axis;
}

}  // namespace attn::parallel
