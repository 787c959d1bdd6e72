#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// Returns whether every number of dtype `from` survives a conversion to `to` and back.
bool widens(DType from, DType to) {
  const bool half = from == DType::float16 || from == DType::bfloat16;
  if (half) return to == DType::float32 || to == DType::float64;
  return from == DType::float32 && to == DType::float64;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), producer_(graph.values.size(), graph::kNone) {
    replacement_.resize(graph.values.size());
    std::iota(replacement_.begin(), replacement_.end(), 0);
  }

  void run() {
    std::vector<bool> removed(graph_.nodes.size(), false);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      for (ValueId& id : node.inputs) id = now(id);
      skip_middle(node);
      const ValueId same = same_as(node);
      if (same != graph::kNone) {
        replacement_[static_cast<std::size_t>(node.outputs[0])] = same;
        removed[i] = true;
      } else {
        for (const ValueId id : node.outputs) producer_[static_cast<std::size_t>(id)] = static_cast<NodeId>(i);
      }
    }
    for (graph::Output& output : graph_.outputs) output.value = now(output.value);
    for (graph::Scores& scores : graph_.scores) scores.value = now(scores.value);
    for (graph::Layer& layer : graph_.layers) {
      for (ValueId& id : layer.outputs) id = now(id);
    }
    drop_nodes(graph_, removed);
  }

 private:
  ValueId now(ValueId id) const { return replacement_[static_cast<std::size_t>(id)]; }

  template <typename T>
  const Node* made_by(ValueId id) const {
    const NodeId producer = producer_[static_cast<std::size_t>(id)];
    if (producer == graph::kNone) return nullptr;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    return std::holds_alternative<T>(node.op) ? &node : nullptr;
  }

  // Makes a node read x instead of f(x) if its operation can also do the work of f.
  void skip_middle(Node& node) {
    if (auto* cast = std::get_if<graph::Cast>(&node.op)) {
      const Node* first = made_by<graph::Cast>(node.inputs[0]);
      if (first == nullptr) return;
      const DType origin = graph_.value(first->inputs[0]).dtype;
      if (cast->dtype == origin && widens(origin, graph_.value(first->outputs[0]).dtype)) node.inputs = first->inputs;
    } else if (std::holds_alternative<graph::Reshape>(node.op)) {
      if (const Node* first = made_by<graph::Reshape>(node.inputs[0])) {
        node.inputs = first->inputs;
        node.op = graph::Reshape{graph_.value(node.outputs[0]).shape};
      }
    } else if (auto* transpose = std::get_if<graph::Transpose>(&node.op)) {
      if (const Node* first = made_by<graph::Transpose>(node.inputs[0])) {
        const auto& earlier = std::get<graph::Transpose>(first->op).permutation;
        for (int& axis : transpose->permutation) axis = earlier[static_cast<std::size_t>(axis)];
        node.inputs = first->inputs;
      }
    }
  }

  /// Returns an existing value that equals the node's result.
  ValueId same_as(const Node& node) {
    if (changes_nothing(node)) return node.inputs[0];
    if (!std::holds_alternative<graph::Cast>(node.op) && !std::holds_alternative<graph::Reshape>(node.op))
      return graph::kNone;
    const graph::Value& after = graph_.value(node.outputs[0]);
    if (std::ranges::find(after.shape, kUnknown) != after.shape.end()) return graph::kNone;
    Form form{node.inputs[0], after.dtype, {after.shape.begin(), after.shape.end()}};
    const auto [earlier, is_new] = forms_.try_emplace(std::move(form), node.outputs[0]);
    return is_new ? graph::kNone : earlier->second;
  }

  bool changes_nothing(const Node& node) const {
    if (const auto* transpose = std::get_if<graph::Transpose>(&node.op)) {
      std::vector<int> identity(transpose->permutation.size());
      std::iota(identity.begin(), identity.end(), 0);
      return transpose->permutation == identity;
    }
    if (!std::holds_alternative<graph::Cast>(node.op) && !std::holds_alternative<graph::Reshape>(node.op)) return false;
    const graph::Value& before = graph_.value(node.inputs[0]);
    const graph::Value& after = graph_.value(node.outputs[0]);
    return before.dtype == after.dtype && before.shape == after.shape;
  }

  Graph& graph_;
  std::vector<NodeId> producer_;                              // the producer of each value, among the kept nodes
  std::vector<ValueId> replacement_;                          // for each value, the value that its readers use instead
  using Form = std::tuple<ValueId, DType, std::vector<Dim>>;  // the key of a Cast or Reshape of a value
  std::map<Form, ValueId> forms_;
};

}  // namespace

Graph fold_identities(Graph graph) {
  Folder(graph).run();
  return remove_dead(std::move(graph));
}

}  // namespace attn::plan
