#include "shardable_axes.h"

#include <algorithm>
#include <concepts>
#include <numeric>
#include <optional>

namespace attn::parallel {
namespace {

using graph::at;
using graph::Node;
using graph::ValueId;

Dim product(const Shape& shape, int first, int last) {
  Dim result = 1;
  for (int axis = first; axis < last; ++axis) result *= shape[axis];
  return result;
}

bool has(const std::vector<int>& axes, int axis) { return std::ranges::find(axes, axis) != axes.end(); }

template <typename Op, typename... Others>
concept OneOf = (std::same_as<Op, Others> || ...);
template <typename Op>
concept ComputedWhole =
    OneOf<Op, graph::Einsum, graph::Iota, graph::Fill, graph::Quantize, graph::Dequantize, graph::QuantizedLinear,
          graph::Append, graph::CachedAttention, graph::BatchNormTraining, graph::BatchNormGrad, graph::ConvKernelGrad,
          graph::AllReduce, graph::AllGather, graph::ReduceScatter, graph::Shift>;

/// Derives the shardable axes of each output from those of the inputs.
class Finder {
 public:
  Finder(const graph::Graph& graph, Kind kind, int ranks, const std::vector<bool>& fixed)
      : graph_(graph), kind_(kind), ranks_(ranks), fixed_(fixed), shardable_(graph.values.size()) {}

  std::vector<ShardableAxes> run() && {
    if (kind_ != Kind::tensor) {
      const int axis = kind_ == Kind::data ? 0 : 1;
      for (const ValueId input : graph_.inputs) {
        const Shape& dims = shape(input);
        if (dims.rank() > axis && dims[axis] >= ranks_) shardable_[at(input)][axis] = dims[axis];
      }
    }
    for (const Node& node : graph_.nodes) {
      const auto outputs = std::visit([&](const auto& op) { return of(op, node); }, node.op);
      for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
        ShardableAxes& shardable = shardable_[at(node.outputs[i])];
        for (const auto& [axis, groups] : outputs[i])
          if (groups >= ranks_) shardable.emplace(axis, groups);
      }
    }
    return std::move(shardable_);
  }

 private:
  using Result = std::vector<ShardableAxes>;  // by output

  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).shape; }
  [[nodiscard]] const ShardableAxes& shardable(const Node& node, std::size_t input) const {
    return shardable_[at(node.inputs[input])];
  }
  [[nodiscard]] bool is_fixed(const Node& node, std::size_t input) const { return fixed_[at(node.inputs[input])]; }

  /// Returns the number of groups of an axis that inputs with `a` and `b` groups share: the coarser one, if the other
  /// refines it.
  static std::optional<Dim> joined(std::optional<Dim> a, Dim b) {
    if (!a) return b;
    const Dim coarse = std::min(*a, b), fine = std::max(*a, b);
    return coarse > 0 && fine % coarse == 0 ? std::optional(coarse) : std::nullopt;
  }

  /// Returns the shardable axes of an output with broadcast inputs. An axis is shardable if at least one input
  /// offers it, and all inputs that offer it have the same number of groups. The other inputs are sliced.
  [[nodiscard]] ShardableAxes broadcasting(const Node& node) const {
    const Shape& out = shape(node.outputs[0]);
    ShardableAxes result;
    for (int axis = 0; axis < out.rank(); ++axis) {
      std::optional<Dim> groups;
      bool agree = true;
      for (std::size_t i = 0; agree && i < node.inputs.size(); ++i) {
        const int below = axis_below(out, shape(node.inputs[i]), axis);
        const auto found = shardable(node, i).find(below);
        if (below == graph::kNone || found == shardable(node, i).end()) continue;
        groups = joined(groups, found->second);
        agree = groups.has_value();
      }
      if (agree && groups) result.emplace(axis, *groups);
    }
    return result;
  }

  /// Returns the shardable axes of the only input, except those that the operation needs whole.
  template <typename Keeps>
  [[nodiscard]] Result keeping(const Node& node, const Keeps& keeps) const {
    ShardableAxes result;
    for (const auto& [axis, groups] : shardable(node, 0))
      if (keeps(axis)) result.emplace(axis, groups);
    return {result};
  }

  // Operations without shardable axes: every rank computes them whole.
  template <ComputedWhole Op>
  [[nodiscard]] Result of(const Op&, const Node&) const {
    return {};
  }

  [[nodiscard]] Result of(const graph::Unary&, const Node& node) const { return {broadcasting(node)}; }
  [[nodiscard]] Result of(const graph::Cast&, const Node& node) const { return {broadcasting(node)}; }
  [[nodiscard]] Result of(const graph::Binary&, const Node& node) const { return {broadcasting(node)}; }
  [[nodiscard]] Result of(const graph::Select&, const Node& node) const { return {broadcasting(node)}; }
  [[nodiscard]] Result of(const graph::Broadcast&, const Node& node) const { return {broadcasting(node)}; }

  [[nodiscard]] Result of(const graph::Linear& op, const Node& node) const {
    ShardableAxes result;
    const Shape &x = shape(node.inputs[0]), &kernel = shape(node.inputs[1]);
    const int rows = x.rank() - op.contracted;
    for (const auto& [axis, groups] : shardable(node, 0))
      if (axis < rows && !op.residual) result.emplace(axis, groups);
    if (kind_ == Kind::tensor && is_fixed(node, 1) && !op.residual) {
      for (int column = op.contracted; column < kernel.rank(); ++column)
        result.emplace(rows + column - op.contracted, kernel[column]);
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::MatMul& op, const Node& node) const {
    const Shape &x = shape(node.inputs[0]), &y = shape(node.inputs[1]), &out = shape(node.outputs[0]);
    if (x.rank() < 2 || y.rank() != x.rank()) return {};
    ShardableAxes result;
    if (kind_ == Kind::data) {  // the rows of x, or the columns of y
      const int last = x.rank() - 1;
      const auto rows = shardable(node, 0).find(op.transpose_x ? last : last - 1);
      if (rows != shardable(node, 0).end()) result.emplace(last - 1, rows->second);
      const auto columns = shardable(node, 1).find(op.transpose_y ? last - 1 : last);
      if (columns != shardable(node, 1).end()) result.emplace(last, columns->second);
    }
    for (int axis = 0; axis < out.rank() - 2; ++axis) {
      std::optional<Dim> groups;
      for (std::size_t i = 0; i < 2; ++i) {
        const auto found = shardable(node, i).find(axis);
        if (found != shardable(node, i).end()) groups = joined(groups, found->second);
      }
      if (groups) result.emplace(axis, *groups);
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::Softmax& op, const Node& node) const {
    return keeping(node, [&](int axis) { return !has(op.axes, axis); });
  }
  [[nodiscard]] Result of(const graph::LayerNorm& op, const Node& node) const {
    return keeping(node, [&](int axis) { return !has(op.axes, axis); });
  }
  [[nodiscard]] Result of(const graph::BatchNorm& op, const Node& node) const {
    const int rank = shape(node.inputs[0]).rank();
    return keeping(node, [&](int axis) { return axis != (op.axis + rank) % rank; });
  }
  [[nodiscard]] Result of(const graph::Cumulate& op, const Node& node) const {
    return keeping(node, [&](int axis) { return axis != op.axis; });
  }
  [[nodiscard]] Result of(const graph::Slice& op, const Node& node) const {
    return keeping(node, [&](int axis) {
      const graph::Range& range = op.ranges[at(axis)];
      return range.step == 1 && !range.stop && range.start.value_or(0) == 0;
    });
  }
  [[nodiscard]] Result of(const graph::Pad& op, const Node& node) const {
    return keeping(node, [&](int axis) { return op.before[at(axis)] == 0 && op.after[at(axis)] == 0; });
  }

  [[nodiscard]] Result of(const graph::Reduce& op, const Node& node) const {
    ShardableAxes result;
    for (const auto& [axis, groups] : shardable(node, 0)) {
      if (has(op.axes, axis)) continue;
      const auto before = std::ranges::count_if(op.axes, [axis = axis](int reduced) { return reduced < axis; });
      result.emplace(op.keepdims ? axis : axis - static_cast<int>(before), groups);
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::Reshape&, const Node& node) const {
    ShardableAxes result;
    for (const auto& [axis, groups] : shardable(node, 0)) {
      const MovedAxis moved = axis_after_reshape(shape(node.inputs[0]), shape(node.outputs[0]), axis);
      if (moved.axis == graph::kNone) continue;
      // Only whole groups can be distributed.
      const Dim size = shape(node.inputs[0])[axis];
      if (moved.divisor > 1 && (size / groups) % moved.divisor != 0) {
        if (size / moved.divisor < ranks_ || groups != size) continue;
        result.emplace(moved.axis, size / moved.divisor);
      } else {
        result.emplace(moved.axis, groups);
      }
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::Transpose& op, const Node& node) const {
    ShardableAxes result;
    for (std::size_t axis = 0; axis < op.permutation.size(); ++axis) {
      const auto found = shardable(node, 0).find(op.permutation[axis]);
      if (found != shardable(node, 0).end()) result.emplace(static_cast<int>(axis), found->second);
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::Concat& op, const Node& node) const {
    ShardableAxes result;
    for (const auto& [axis, groups] : shardable(node, 0)) {
      std::optional<Dim> all = groups;
      for (std::size_t i = 1; all && i < node.inputs.size(); ++i) {
        const auto found = shardable(node, i).find(axis);
        all = found == shardable(node, i).end() ? std::nullopt : joined(all, found->second);
      }
      if (all && axis != op.axis) result.emplace(axis, *all);
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::Gather& op, const Node& node) const {
    ShardableAxes result;
    for (const auto& [axis, groups] : shardable(node, 1)) result.emplace(op.axis + axis, groups);
    if (result.empty() && !is_fixed(node, 0)) {  // or along the other axes of the table
      const int indices = shape(node.inputs[1]).rank();
      for (const auto& [axis, groups] : shardable(node, 0))
        if (axis != op.axis) result.emplace(axis < op.axis ? axis : axis + indices - 1, groups);
    }
    return {result};
  }

  [[nodiscard]] Result of(const graph::Attention& op, const Node& node) const {
    if (op.packed_heads > 0 || op.varlen > 0) return {};
    ShardableAxes context, scores, lse;
    const auto offer = [&](int axis, int of_scores, Dim groups) {
      context.emplace(axis, groups);
      scores.emplace(of_scores, groups);
      lse.emplace(of_scores, groups);
    };
    const auto all = [&](int axis) {
      std::optional<Dim> groups;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto found = shardable(node, i).find(axis);
        if (found == shardable(node, i).end()) return std::optional<Dim>();
        groups = groups ? joined(groups, found->second) : found->second;
        if (!groups) return groups;
      }
      return groups;
    };
    if (const auto rows = all(0)) offer(0, 0, *rows);
    if (kind_ == Kind::sequence) {
      const auto found = shardable(node, 0).find(1);
      if (found != shardable(node, 0).end()) offer(1, 2, found->second);
    }
    // A key head stays with the query heads that read it. If there are too few key heads, each rank has all of them and
    // selects those that its queries read.
    const auto heads = all(2);
    if (heads && *heads >= ranks_ && shape(node.inputs[1])[2] == *heads) {
      offer(2, 1, *heads);
    } else if (kind_ == Kind::tensor) {
      const auto found = shardable(node, 0).find(2);
      if (found != shardable(node, 0).end()) offer(2, 1, found->second);
    }
    Result result{context};
    if (op.scores) result.push_back(scores);
    if (op.lse) result.push_back(lse);
    return result;
  }

  // Rows of the batch are independent.
  [[nodiscard]] Result of(const graph::Conv&, const Node& node) const {
    return keeping(node, [](int axis) { return axis == 0; });
  }
  [[nodiscard]] Result of(const graph::Pool&, const Node& node) const {
    return keeping(node, [](int axis) { return axis == 0; });
  }
  [[nodiscard]] Result of(const graph::Rnn&, const Node& node) const {
    const Result one = keeping(node, [](int axis) { return axis == 0; });
    return Result(node.outputs.size(), one[0]);
  }

  [[nodiscard]] Result of(const graph::DeltaRule&, const Node& node) const {
    return Result(node.outputs.size(), of_batch(node, 0));
  }

  // Backward graphs. A gradient is sharded like its value; for gradients of weights, every rank has a summand
  // (Strategies::sum).
  [[nodiscard]] Result of(const graph::UnaryGrad&, const Node& node) const { return {broadcasting(node)}; }
  [[nodiscard]] Result of(const graph::Dropout&, const Node& node) const {
    return keeping(node, [](int) { return true; });
  }
  [[nodiscard]] Result of(const graph::SoftmaxCrossEntropy&, const Node& node) const { return {of_classes(node)}; }
  [[nodiscard]] Result of(const graph::SoftmaxCrossEntropyGrad&, const Node& node) const { return {of_classes(node)}; }
  /// Returns all shardable axes except the last one, which has the classes.
  [[nodiscard]] ShardableAxes of_classes(const Node& node) const {
    ShardableAxes result;
    const int classes = shape(node.inputs[0]).rank() - 1;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      for (const auto& [axis, groups] : shardable(node, i))
        if (axis < classes) result.emplace(axis, groups);
    return result;
  }
  [[nodiscard]] Result of(const graph::LayerNormGrad& op, const Node& node) const {
    ShardableAxes result;
    for (const std::size_t i : {std::size_t{0}, node.inputs.size() - 1})
      for (const auto& [axis, groups] : shardable(node, i))
        if (!has(op.forward.axes, axis)) result.emplace(axis, groups);
    return {result};
  }
  [[nodiscard]] Result of(const graph::AttentionGrad& op, const Node& node) const {
    const auto rows = shardable(node, 0).find(0);
    if (rows == shardable(node, 0).end()) return {};
    const ShardableAxes one{{0, rows->second}};
    Result result{one, one, one};
    if (op.bias && is_of_rows(node, 3)) result.push_back(one);
    return result;
  }
  /// Returns whether the bias (…, N, T, S) has an entry for each row of the batch.
  [[nodiscard]] bool is_of_rows(const Node& node, std::size_t input) const {
    constexpr int kScores = 4;
    const Shape& bias = shape(node.inputs[input]);
    return bias.rank() == kScores && bias[0] == shape(node.inputs[0])[0];
  }
  [[nodiscard]] Result of(const graph::Scatter& op, const Node& node) const {
    return keeping(node, [&](int axis) {
      const graph::Range& range = op.ranges[at(axis)];
      return op.shape[axis] == shape(node.inputs[0])[axis] && range.step == 1 && range.start.value_or(0) == 0;
    });
  }
  [[nodiscard]] Result of(const graph::ScatterAdd& op, const Node& node) const {
    ShardableAxes result;
    const int indices = shape(node.inputs[1]).rank();
    for (const auto& [axis, groups] : shardable(node, 0))
      if (axis < op.axis || axis >= op.axis + indices)
        result.emplace(axis < op.axis ? axis : axis - indices + 1, groups);
    return {result};
  }
  [[nodiscard]] Result of(const graph::ConvInputGrad&, const Node& node) const { return {of_batch(node, 1)}; }
  [[nodiscard]] Result of(const graph::PoolGrad&, const Node& node) const {
    return {of_batch(node, node.inputs.size() - 1)};
  }
  [[nodiscard]] Result of(const graph::RnnGrad& op, const Node& node) const {
    const ShardableAxes rows = of_batch(node, 0);
    Result result(node.outputs.size());
    result[0] = rows;
    for (std::size_t i = op.forward.bias ? 4 : 3; i < result.size(); ++i) result[i] = rows;
    return result;
  }
  [[nodiscard]] Result of(const graph::DeltaRuleGrad&, const Node& node) const {
    return Result(node.outputs.size(), of_batch(node, 0));
  }
  [[nodiscard]] ShardableAxes of_batch(const Node& node, std::size_t input) const {
    const auto rows = shardable(node, input).find(0);
    return rows == shardable(node, input).end() ? ShardableAxes() : ShardableAxes{{0, rows->second}};
  }

  const graph::Graph& graph_;
  Kind kind_;
  int ranks_;
  const std::vector<bool>& fixed_;
  std::vector<ShardableAxes> shardable_;
};

}  // namespace

int axis_below(const Shape& output, const Shape& shape, int axis) {
  const int below = axis - (output.rank() - shape.rank());
  return below < 0 || (shape[below] == 1 && output[axis] != 1) ? graph::kNone : below;
}

MovedAxis axis_after_reshape(const Shape& from, const Shape& to, int axis) {
  const Dim size = from[axis], before = product(from, 0, axis);
  if (size <= 1) return {};
  for (int there = 0; there < to.rank(); ++there) {
    if (product(to, 0, there) != before || to[there] == 1) continue;
    if (to[there] == size) return {there, 1, 1};
    if (to[there] > size && to[there] % size == 0) {
      // The axes that follow `axis` were merged into it, each of them whole.
      Dim factor = 1;
      for (int next = axis + 1; next < from.rank() && factor < to[there] / size; ++next) factor *= from[next];
      if (factor == to[there] / size) return {there, factor, 1};
    }
    if (to[there] < size && to[there] > 0 && size % to[there] == 0) return {there, 1, size / to[there]};
    return {};
  }
  return {};
}

std::vector<ShardableAxes> find_shardable_axes(const graph::Graph& graph, Kind kind, int ranks,
                                               const std::vector<bool>& fixed) {
  return Finder(graph, kind, ranks, fixed).run();
}

}  // namespace attn::parallel
