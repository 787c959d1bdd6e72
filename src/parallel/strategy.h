// The strategy by which a node produces a value in a layout (whole, or a shard). Private to the module.
#pragma once

#include <optional>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/split.h"
#include "shardable_axes.h"

namespace attn::parallel {

/// The layout of a value: whole, or a shard.
using Layout = std::optional<Split>;

struct Strategy {
  enum class Method : std::uint8_t {
    whole,    ///< the whole value from whole inputs, as on one rank
    part,     ///< a shard from shards of inputs
    cut,      ///< a shard, cut from the whole value
    row_sum,  ///< the whole value: an all-reduce of products with shards of the kernel's rows
    look_up,  ///< the whole value: an all-reduce of lookups in this rank's rows of the table, with zeros for other rows
    gather,   ///< the whole value: an all-gather of shards
    sum,      ///< the whole value: an all-reduce of summands that ranks compute from shards of inputs
    ring      ///< attention for a shard of the queries, with keys and values that circulate among ranks
  };
  Method how = Method::whole;
  Split split{};                 ///< the split of the result for `gather`, of the inputs for sums
  std::vector<Layout> inputs{};  ///< the layout of each input; empty for `cut` and `gather`
};

/// Chooses strategies. The choice depends only on the graph, so all ranks choose alike.
class Strategies {
 public:
  Strategies(const graph::Graph& graph, Kind kind, int ranks);

  /// Returns the strategy for output `output` of the node in this layout.
  [[nodiscard]] Strategy strategy(const graph::Node& node, std::size_t output, const Layout& layout) const;
  /// Returns the split of a value along a shardable axis, if every rank then has a non-empty shard.
  [[nodiscard]] std::optional<Split> split_of(graph::ValueId value, int axis) const;

  [[nodiscard]] const std::vector<ShardableAxes>& shardable() const { return shardable_; }
  [[nodiscard]] const std::vector<bool>& fixed() const { return fixed_; }

 private:
  [[nodiscard]] Strategy whole(const graph::Node& node, std::size_t output) const;
  [[nodiscard]] Strategy part(const graph::Node& node, std::size_t output, const Split& split) const;
  /// Returns the strategy of a node that sums, or computes the maximum, over sharded rows, such as gradients of
  /// weights, or a loss.
  [[nodiscard]] std::optional<Strategy> sum(const graph::Node& node, std::size_t output) const;
  [[nodiscard]] const Shape& shape(graph::ValueId id) const { return graph_.value(id).shape; }

  const graph::Graph& graph_;
  Kind kind_;
  int ranks_;
  std::vector<bool> fixed_;
  std::vector<ShardableAxes> shardable_;
  std::vector<int> readers_;     // number of nodes that read each value
  std::vector<bool> is_output_;  // by value
};

/// Returns the axis along which output `other` of a node is sharded if output `output` is sharded along `axis`. Empty
/// if each rank then has a summand of `other` instead of a shard.
[[nodiscard]] std::optional<int> axis_of_other(const graph::Graph& graph, const graph::Node& node, std::size_t output,
                                               int axis, std::size_t other);

}  // namespace attn::parallel
