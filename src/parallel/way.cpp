#include "way.h"

#include <algorithm>

namespace attn::parallel {
namespace {

using graph::at;
using graph::kNone;
using graph::Node;
using graph::ValueId;
using How = Way::How;

std::vector<Demand> all_whole(const Node& node) { return std::vector<Demand>(node.inputs.size()); }

Split with_axis(const Split& split, int axis) { return {axis, split.sizes}; }

}  // namespace

Ways::Ways(const graph::Graph& graph, Kind kind, int ranks)
    : graph_(graph),
      kind_(kind),
      ranks_(ranks),
      fixed_(graph::fixed_values(graph)),
      offers_(find_offers(graph, kind, ranks, fixed_)),
      readers_(graph.values.size(), 0),
      is_output_(graph.values.size(), false) {
  for (const Node& node : graph.nodes)
    for (const ValueId input : node.inputs) ++readers_[at(input)];
  for (const graph::Output& output : graph.outputs) is_output_[at(output.value)] = true;
}

std::optional<Split> Ways::offered(ValueId value, int axis) const {
  const auto found = offers_[at(value)].find(axis);
  if (found == offers_[at(value)].end()) return std::nullopt;
  return Split{axis, shares_of_axis(shape(value)[axis], found->second, ranks_)};
}

Way Ways::way(const Node& node, std::size_t output, const Demand& demand) const {
  return demand ? part(node, output, *demand) : whole(node, output);
}

Way Ways::whole(const Node& node, std::size_t output) const {
  const Way as_ever{How::whole, {}, all_whole(node)};
  const ValueId value = node.outputs[output];
  const auto gathered = [&](int axis) {
    const auto split = offered(value, axis);
    return split ? Way{How::gather, *split, {}} : as_ever;
  };
  if (kind_ != Kind::tensor) {
    // Masks and indices out of tokens are made faster than gathered.
    const auto is_counted = [&](ValueId id) { return is_floating(graph_.value(id).dtype); };
    const Offers& offers = offers_[at(value)];
    const bool is_cheap = !is_counted(value) && std::ranges::none_of(node.inputs, is_counted);
    return offers.empty() || is_cheap ? as_ever : gathered(offers.begin()->first);
  }
  if (const auto* linear = std::get_if<graph::Linear>(&node.op)) {
    const Shape &x = shape(node.inputs[0]), &kernel = shape(node.inputs[1]);
    const int rows = x.rank() - linear->contracted;
    if (const auto split = offered(node.inputs[0], rows); split && fixed_[at(node.inputs[1])] && !linear->residual) {
      Way way{How::row_sum, *split, all_whole(node)};
      way.inputs[0] = split;
      way.inputs[1] = with_axis(*split, 0);
      return way;
    }
    // Logits of a vocabulary: far more columns than rows.
    constexpr Dim kMany = 4;
    const bool is_wide = kernel.rank() == linear->contracted + 1 && kernel.back() >= kMany * kernel[0];
    if (is_wide || (is_output_[at(value)] && readers_[at(value)] == 0)) return gathered(rows);
  }
  if (const auto* gather = std::get_if<graph::Gather>(&node.op)) {
    const Shape &table = shape(node.inputs[0]), &indices = shape(node.inputs[1]);
    // A table that is smaller than what is looked up in it is not worth a collective.
    const bool is_large = table[0] > indices.size() && table[0] >= ranks_;
    if (gather->axis == 0 && is_large && fixed_[at(node.inputs[0])] && is_floating(graph_.value(value).dtype)) {
      const Split split{0, shares_of_axis(table[0], table[0], ranks_)};
      return {How::look_up, split, {split, std::nullopt}};
    }
  }
  if (std::holds_alternative<graph::Attention>(node.op)) return gathered(output == 0 ? 2 : 1);
  return as_ever;
}

Way Ways::part(const Node& node, std::size_t output, const Split& split) const {
  const Way cut{How::cut, split, {}};
  const ValueId value = node.outputs[output];
  Way way{How::part, split, all_whole(node)};
  const auto& in = node.inputs;

  if (fixed_[at(value)]) {  // weights, moved or cast: only a rank's part of them is to be in memory
    if (std::holds_alternative<graph::Cast>(node.op) || std::holds_alternative<graph::Unary>(node.op)) {
      way.inputs[0] = split;
      return way;
    }
    if (const auto* transpose = std::get_if<graph::Transpose>(&node.op)) {
      way.inputs[0] = with_axis(split, transpose->permutation[at(split.axis)]);
      return way;
    }
    return cut;
  }
  if (!offers_[at(value)].contains(split.axis)) return cut;

  const auto broadcasting = [&](std::size_t from) {
    for (std::size_t i = from; i < in.size(); ++i) {
      const int below = axis_below(shape(value), shape(in[i]), split.axis);
      if (below != kNone) way.inputs[i] = with_axis(split, below);
    }
    return way;
  };
  const auto first_only = [&] {
    way.inputs[0] = split;
    return way;
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
            way.inputs[1] = with_axis(split, op.contracted + split.axis - rows);
            if (op.bias) way.inputs[2] = with_axis(split, split.axis - rows);
            return way;
          },
          [&](const graph::MatMul&) {
            for (std::size_t i = 0; i < 2; ++i)
              if (shape(in[i])[split.axis] != 1) way.inputs[i] = split;
            return way;
          },
          [&](const graph::Reduce& op) {
            int axis = split.axis;
            if (!op.keepdims)
              for (const int reduced : op.axes) axis += reduced <= axis ? 1 : 0;
            way.inputs[0] = with_axis(split, axis);
            return way;
          },
          [&](const graph::Reshape&) {
            for (const auto& [axis, groups] : offers_[at(in[0])]) {
              const Moved moved = moved_by_reshape(shape(in[0]), shape(value), axis);
              if (moved.axis != split.axis) continue;
              Split before = with_axis(split, axis);
              for (Dim& size : before.sizes) {
                if (size % moved.factor != 0) return cut;
                size = size / moved.factor * moved.divisor;
              }
              way.inputs[0] = before;
              return way;
            }
            return cut;
          },
          [&](const graph::Transpose& op) {
            way.inputs[0] = with_axis(split, op.permutation[at(split.axis)]);
            return way;
          },
          [&](const graph::Concat&) {
            std::ranges::fill(way.inputs, Demand(split));
            return way;
          },
          [&](const graph::Gather& op) {
            way.inputs[1] = with_axis(split, split.axis - op.axis);
            return way;
          },
          [&](const graph::Rnn& op) {
            way.inputs[0] = split;
            const std::size_t weights = 3U + (op.bias ? 1U : 0U);
            for (std::size_t i = weights; i < in.size(); ++i) way.inputs[i] = with_axis(split, 0);
            return way;
          },
          [&](const graph::Attention& op) {
            // The axis of the scores (B, N, T, S).
            const int of_scores = output == 0 ? (split.axis == 0 ? 0 : 3 - split.axis) : split.axis;
            const Shape scores{shape(in[0])[0], shape(in[0])[2], shape(in[0])[1], shape(in[1])[1]};
            for (std::size_t i = 3; i < in.size(); ++i) {
              const int below = axis_below(scores, shape(in[i]), of_scores);
              if (below != kNone) way.inputs[i] = with_axis(split, below);
            }
            const int of_query = of_scores == 0 ? 0 : 3 - of_scores;
            way.inputs[0] = with_axis(split, of_query);
            const auto keys_of_ranks = offered(in[1], 1), values_of_ranks = offered(in[2], 1);
            if (of_scores == 2 && !op.scores && !op.lse && keys_of_ranks && keys_of_ranks == values_of_ranks) {
              way.how = How::ring;
              way.inputs[1] = way.inputs[2] = keys_of_ranks;
            }
            if (of_scores == 0) way.inputs[1] = way.inputs[2] = way.inputs[0];
            if (of_scores == 1) {
              const Dim group = shape(in[0])[2] / shape(in[1])[2];
              Split keys = with_axis(split, 2);
              const bool fits = std::ranges::all_of(keys.sizes, [&](Dim size) { return size % group == 0; });
              for (Dim& size : keys.sizes) size /= group;
              if (fits && offers_[at(in[1])].contains(2) && offers_[at(in[2])].contains(2))
                way.inputs[1] = way.inputs[2] = keys;
            }
            return way;
          },
          [&](const auto&) { return Way(cut); }},
      node.op);
}

}  // namespace attn::parallel
