#include "attn/gradients/gradients.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "rules.h"
#include "unfuse.h"

namespace attn::gradients {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::Value;

void no_gradient(const Step& step) {
  const Graph& graph = step.b.graph();
  const graph::LayerId layer = step.node().layer;
  throw bad_input("{}the operation '{}' has no gradient",
                  layer == graph::kNone ? "" : fmt::format("layer '{}': ", printable(graph.layers[at(layer)].name)),
                  graph::name_of(step.node().op));
}

namespace {

/// Returns for each value whether it is one of those wanted, or computed from one of these.
std::vector<bool> dependents(const Graph& graph, std::span<const ValueId> wanted) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const ValueId id : wanted) depends[at(id)] = is_floating(graph.value(id).dtype);
  for (const Node& node : graph.nodes) {
    const bool any = std::ranges::any_of(node.inputs, [&](ValueId id) { return depends[at(id)]; });
    for (const ValueId id : node.outputs)
      if (any && is_floating(graph.value(id).dtype)) depends[at(id)] = true;
  }
  return depends;
}

class Backward {
 public:
  Backward(Graph& graph, std::vector<bool> depends)
      : builder_(graph), depends_(std::move(depends)), gradients_(depends_.size(), graph::kNone) {}

  void run(ValueId loss) {
    if (!depends_[at(loss)]) return;
    gradients_[at(loss)] = builder_.apply(graph::Fill{{}, builder_.dtype(loss), 1.0}, {});
    for (std::size_t i = builder_.graph().nodes.size() - 1; i-- > 0;) {
      const Node node = builder_.graph().nodes[i];  // a copy: rules append nodes
      go_back(node);
    }
  }

  [[nodiscard]] ValueId gradient(ValueId id) const { return gradients_[at(id)]; }

 private:
  void go_back(const Node& node) {
    std::vector<ValueId> dy;
    for (const ValueId id : node.outputs) dy.push_back(gradients_[at(id)]);
    if (std::ranges::all_of(dy, [](ValueId id) { return id == graph::kNone; })) return;
    std::vector<bool> wants;
    for (const ValueId id : node.inputs) wants.push_back(depends_[at(id)]);
    builder_.set_layer(node.layer);
    Step step(builder_, node, std::move(dy), std::move(wants));
    std::visit([&](const auto& op) { differentiate(op, step); }, node.op);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId dx = step.dx()[i];
      if (dx == graph::kNone) continue;
      ValueId& sum = gradients_[at(node.inputs[i])];
      sum = sum == graph::kNone ? dx : step.add(sum, dx);
    }
  }

  Builder builder_;
  std::vector<bool> depends_;       // for each value of the forward graph
  std::vector<ValueId> gradients_;  // for each value of the forward graph
};

}  // namespace

Differentiated differentiate(Graph graph, ValueId loss, std::span<const ValueId> wanted) {
  const Value& value = graph.value(loss);
  if (!is_floating(value.dtype) || value.shape.rank() != 0)
    throw bad_input("a loss is one floating-point number, not {} {}", name_of(value.dtype), value.shape.str());
  const std::vector<bool> depends = dependents(graph, wanted);
  Differentiated out{unfuse(std::move(graph), depends), {}, 0};
  out.forward = out.graph.nodes.size();
  Backward backward(out.graph, dependents(out.graph, wanted));
  backward.run(loss);
  for (const ValueId id : wanted) out.gradients.push_back(backward.gradient(id));
  return out;
}

}  // namespace attn::gradients
