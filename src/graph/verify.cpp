#include "attn/base/error.h"
#include "attn/graph/graph.h"

namespace attn::graph {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph),
        ready_(graph.values.size(), false),
        is_state_(graph.values.size(), false),
        overwritten_(graph.values.size(), false) {}

  void run() {
    check_values();
    for (const ValueId id : graph_.inputs) {
      if (at(id, "an input").kind != ValueKind::input) throw internal_error("value {} is no input", id);
    }
    for (const ValueId id : graph_.states) {
      if (at(id, "a state").kind != ValueKind::state) throw internal_error("value {} is no state", id);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(i);
    for (const Output& output : graph_.outputs) need(output.value, "an output");
    for (const Scores& scores : graph_.scores) need(scores.value, "scores");
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
      const Layer& layer = graph_.layers[i];
      if (layer.parent < kNone || layer.parent >= static_cast<LayerId>(i))
        throw internal_error("layer {} is part of layer {}", i, layer.parent);
      for (const ValueId id : layer.outputs) need(id, "the output of a layer");
    }
  }

 private:
  const Value& at(ValueId id, std::string_view what) const {
    if (id < 0 || id >= static_cast<ValueId>(graph_.values.size())) throw internal_error("{} is value {}", what, id);
    return graph_.value(id);
  }

  void need(ValueId id, std::string_view what) const {
    static_cast<void>(at(id, what));
    if (!ready_[static_cast<std::size_t>(id)]) throw internal_error("{} is value {}, which nothing computes", what, id);
  }

  void check_values() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      ready_[i] = value.kind != ValueKind::computed;
      is_state_[i] = value.kind == ValueKind::state;
      if (value.kind == ValueKind::weight) {
        if (value.weight < 0 || value.weight >= static_cast<std::int32_t>(graph_.weights.size())) {
          throw internal_error("value {} is weight {}", i, value.weight);
        }
        const WeightSpec& spec = graph_.weights[static_cast<std::size_t>(value.weight)];
        if (value.shape != spec.shape || value.dtype != spec.dtype) {
          throw internal_error("value {} differs from its weight '{}'", i, spec.path);
        }
      }
      if (value.kind == ValueKind::constant &&
          (value.shape != value.constant.shape() || value.dtype != value.constant.dtype())) {
        throw internal_error("value {} differs from its constant", i);
      }
    }
  }

  void check_node(std::size_t index) {
    const Node& node = graph_.nodes[index];
    const std::string place = fmt::format("node {} ({})", index, name_of(node.op));
    if (node.layer != kNone && (node.layer < 0 || node.layer >= static_cast<LayerId>(graph_.layers.size()))) {
      throw internal_error("{} belongs to layer {}", place, node.layer);
    }
    std::vector<TensorType> types;
    for (const ValueId id : node.inputs) {
      need(id, fmt::format("an input of {}", place));
      types.push_back({graph_.value(id).dtype, graph_.value(id).shape});
    }
    for (const ValueId id : node.inputs) {
      if (overwritten_[static_cast<std::size_t>(id)]) throw internal_error("{} reads value {} too late", place, id);
    }
    if (std::holds_alternative<Append>(node.op)) append(node, place);
    const auto inferred = infer_at(node, types, place);
    if (inferred.size() != node.outputs.size()) {
      throw internal_error("{} has {} outputs, not {}", place, node.outputs.size(), inferred.size());
    }
    for (std::size_t i = 0; i < inferred.size(); ++i) {
      const ValueId id = node.outputs[i];
      const Value& value = at(id, fmt::format("an output of {}", place));
      if (ready_[static_cast<std::size_t>(id)]) throw internal_error("value {} is made again by {}", id, place);
      ready_[static_cast<std::size_t>(id)] = true;
      if (value.dtype != inferred[i].dtype || value.shape != inferred[i].shape) {
        throw internal_error("output {} of {} is {} {} instead of {} {}", i, place, name_of(value.dtype),
                             value.shape.str(), name_of(inferred[i].dtype), inferred[i].shape.str());
      }
    }
  }

  // Append writes to a state, and nothing reads its previous contents.
  void append(const Node& node, const std::string& place) {
    const ValueId cache = node.inputs[0];
    if (!is_state_[static_cast<std::size_t>(cache)]) throw internal_error("{} writes to value {}", place, cache);
    overwritten_[static_cast<std::size_t>(cache)] = true;
    static_cast<void>(at(node.outputs.at(0), "an output"));
    is_state_[static_cast<std::size_t>(node.outputs[0])] = true;
  }

  static std::vector<TensorType> infer_at(const Node& node, std::span<const TensorType> types,
                                          const std::string& place) {
    try {
      return infer(node.op, types);
    } catch (const Error& error) {
      throw internal_error("{}: {}", place, error.what());
    }
  }

  const Graph& graph_;
  std::vector<bool> ready_;
  std::vector<bool> is_state_, overwritten_;  // for each value: whether it is a state or the result of an Append;
                                              // whether it is already overwritten
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace attn::graph
