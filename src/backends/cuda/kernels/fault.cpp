#include "fault.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/graph/graph.h"

namespace attn::cuda {
namespace {

using graph::at;

std::string sentence_of(const Fault& fault, const graph::Graph& graph) {
  const graph::Node& node = graph.nodes[at(fault.node)];
  const auto shape = [&](std::size_t input) -> const Shape& { return graph.value(node.inputs[input]).shape; };
  switch (fault.kind) {
    case Fault::index_out_of_range:
      return fmt::format("index {} is out of range for an axis of {}", fault.number, fault.other);
    case Fault::integer_division_by_zero:
      return fmt::format("integer division of {} by zero", fault.number);
    case Fault::integer_to_negative_power:
      return fmt::format("power: an integer to the negative power {} is not an integer", fault.number);
    case Fault::rows_beyond_cache:
      return fmt::format("rows {} to {} do not fit a cache of {} rows", fault.number, fault.number + shape(1)[1],
                         shape(0)[2]);
    case Fault::length_beyond_cache:
      return fmt::format("{} rows of a cache of {} cannot serve {} queries", fault.number, shape(1)[2], shape(0)[1]);
    default: {
      const Dim rows = shape(1)[2];
      return fmt::format("row {} of entry {} is in entry {}, and the cache has {}", fault.other % rows,
                         fault.other / rows, fault.number, shape(1)[0]);
    }
  }
}

}  // namespace

Error error_of(const Fault& fault, const graph::Graph& graph) {
  const graph::LayerId layer = graph.nodes[at(fault.node)].layer;
  const std::string place =
      layer == graph::kNone ? "" : fmt::format("layer '{}': ", printable(graph.layers[at(layer)].name));
  return bad_input("{}{}", place, sentence_of(fault, graph));
}

}  // namespace attn::cuda
