#include "attn/parallel/rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::parallel {
namespace {

using graph::Node;
using graph::ValueId;

Error depends(const graph::Graph& graph, const Node& node) {
  const std::string layer = node.layer == graph::kNone ? "" : graph.layers[graph::at(node.layer)].name;
  return bad_usage("the rows of the batch depend on each other{}, so groups of ranks cannot share them",
                   layer.empty() ? "" : fmt::format(" in the layer '{}'", printable(layer)));
}

}  // namespace

GroupRows rows_of_group(const graph::Graph& graph, int group, int groups) {
  GroupRows out{parallelize(graph, Kind::data, group, groups), {}, {}};
  graph::Graph& part = out.part.graph;
  std::map<ValueId, const Node*> gathered;  // values that are outputs of the groups and have no other reader
  for (const Node& node : part.nodes) {
    const auto* gather = std::get_if<graph::AllGather>(&node.op);
    if (gather != nullptr && gather->axis == 0) {
      gathered.emplace(node.outputs[0], &node);
    } else if (graph::is_collective(node.op)) {
      throw depends(part, node);
    }
  }
  for (const Node& node : part.nodes)
    if (std::ranges::any_of(node.inputs, [&](ValueId id) { return gathered.contains(id); })) throw depends(part, node);
  const auto take_own = [&](auto& results, std::vector<std::vector<Dim>>& sizes) {
    for (auto& result : results) {
      const auto found = gathered.find(result.value);
      sizes.emplace_back();
      if (found == gathered.end()) continue;
      sizes.back() = std::get<graph::AllGather>(found->second->op).sizes;
      result.value = found->second->inputs[0];
    }
  };
  take_own(part.outputs, out.outputs);
  take_own(part.scores, out.scores);
  std::erase_if(part.nodes, [](const Node& node) { return graph::is_collective(node.op); });
  return out;
}

}  // namespace attn::parallel
