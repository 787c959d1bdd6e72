// How a node makes what is asked of it: the whole of its results, or this rank's part of them. Private to the room.
#pragma once

#include <optional>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/split.h"
#include "offers.h"

namespace attn::parallel {

/// What is needed of a value: all of it, or a part.
using Demand = std::optional<Split>;

struct Way {
  enum class How : std::uint8_t {
    whole,    ///< of whole inputs, as ever
    part,     ///< the part, of parts of inputs
    cut,      ///< the part, cut out of the whole
    row_sum,  ///< the whole: products of parts of the rows, added up by AllReduce
    look_up,  ///< the whole: rows of a table of which this rank has some, zeros else, added up by AllReduce
    gather,   ///< the whole, by AllGather of parts
    sum,      ///< the whole, of which every rank has a summand by parts of inputs, added up by AllReduce
    ring      ///< attention of a part of the queries, by parts of keys and values that go round
  };
  How how = How::whole;
  Split split{};                 ///< of `gather` the result's; of sums that of the inputs
  std::vector<Demand> inputs{};  ///< what is needed of each input; of `cut` and `gather` none
};

/// Decides, from the graph alone, so that all ranks decide alike.
class Ways {
 public:
  Ways(const graph::Graph& graph, Kind kind, int ranks);

  /// How output `output` of the node comes about as demanded.
  [[nodiscard]] Way way(const graph::Node& node, std::size_t output, const Demand& demand) const;
  /// The split that a value offers along the axis, where that gives every rank something.
  [[nodiscard]] std::optional<Split> offered(graph::ValueId value, int axis) const;

  [[nodiscard]] const std::vector<Offers>& offers() const { return offers_; }
  [[nodiscard]] const std::vector<bool>& fixed() const { return fixed_; }

 private:
  [[nodiscard]] Way whole(const graph::Node& node, std::size_t output) const;
  [[nodiscard]] Way part(const graph::Node& node, std::size_t output, const Split& split) const;
  /// Where the node adds up, or takes the most, over rows that are shared out: the gradients of weights, a loss.
  [[nodiscard]] std::optional<Way> sum(const graph::Node& node, std::size_t output) const;
  [[nodiscard]] const Shape& shape(graph::ValueId id) const { return graph_.value(id).shape; }

  const graph::Graph& graph_;
  Kind kind_;
  int ranks_;
  std::vector<bool> fixed_;
  std::vector<Offers> offers_;
  std::vector<int> readers_;     // by value: how many nodes read it
  std::vector<bool> is_output_;  // by value
};

/// The axis along which output `other` of a node is in parts where output `output` is along `axis`; nothing where every
/// rank has a summand of it then.
[[nodiscard]] std::optional<int> axis_of_other(const graph::Graph& graph, const graph::Node& node, std::size_t output,
                                               int axis, std::size_t other);

}  // namespace attn::parallel
