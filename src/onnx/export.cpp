#include "attn/onnx/export.h"

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "bfloat16.h"
#include "emit.h"

namespace attn::onnx {

void no_counterpart(const Step& step, std::string_view what) {
  throw bad_input("ONNX has no equivalent of the operation {}{}{}", graph::name_of(step.node.op),
                  what.empty() ? "" : " ", what);
}

namespace {

class Exporter {
 public:
  Exporter(const Samples& samples, std::span<const Tensor> weights, int opset)
      : samples_(samples), graph_(samples.base), weights_(weights), emitter_(samples, opset) {}

  [[nodiscard]] Graph run() {
    names_.resize(graph_.values.size());
    std::vector<bool> read(graph_.values.size());
    for (const graph::Node& node : graph_.nodes)
      for (const graph::ValueId input : node.inputs)
        if (!is_cast_of_stored(node)) read[graph::at(input)] = true;
    for (const graph::Output& output : graph_.outputs) read[graph::at(output.value)] = true;
    for (const graph::ValueId id : graph_.inputs) name_of(id) = emitter_.unique(graph_.value(id).name);
    for (const graph::Output& output : graph_.outputs) output_names_.push_back(emitter_.unique(output.name));
    for (std::size_t id = 0; id < read.size(); ++id)
      if (read[id] && is_stored(static_cast<graph::ValueId>(id))) take_stored(static_cast<graph::ValueId>(id));
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) take_node(static_cast<graph::NodeId>(n));
    std::vector<ValueInfo> inputs, outputs;
    for (const graph::ValueId id : graph_.inputs) inputs.push_back(info(id, name_of(id)));
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) outputs.push_back(output(i));
    Graph out = emitter_.take();
    out.name = graph_.name;
    out.inputs = std::move(inputs);
    out.outputs = std::move(outputs);
    widen_bfloat16(out, emitter_.opset(), [this](const std::string& name) { return emitter_.unique(name); });
    return out;
  }

 private:
  Name& name_of(graph::ValueId id) { return names_[graph::at(id)]; }

  [[nodiscard]] bool is_stored(graph::ValueId id) const {
    const graph::ValueKind kind = graph_.value(id).kind;
    return kind == graph::ValueKind::weight || kind == graph::ValueKind::constant;
  }
  /// Returns whether the node casts a weight; such a weight is stored in the new dtype.
  [[nodiscard]] bool is_cast_of_stored(const graph::Node& node) const {
    return std::holds_alternative<graph::Cast>(node.op) && is_stored(node.inputs[0]);
  }

  void take_stored(graph::ValueId id) {
    name_of(id) = store(id, [](const Tensor& tensor) { return tensor; });
  }

  /// Stores a weight or a constant after applying `changed`.
  template <typename Change>
  [[nodiscard]] Name store(graph::ValueId id, const Change& changed) {
    const graph::Value& value = graph_.value(id);
    const bool is_weight = value.kind == graph::ValueKind::weight;
    Name name = emitter_.unique(is_weight ? graph_.weights[graph::at(value.weight)].path : "constant");
    emitter_.initializer(name, changed(is_weight ? weights_[graph::at(value.weight)] : value.constant));
    return name;
  }

  void take_node(graph::NodeId id) {
    const graph::Node& node = graph_.nodes[graph::at(id)];
    if (is_cast_of_stored(node)) {
      const DType dtype = std::get<graph::Cast>(node.op).dtype;
      name_of(node.outputs[0]) = store(node.inputs[0], [&](const Tensor& tensor) { return tensor.cast(dtype); });
      return;
    }
    const graph::Layer* layer = node.layer == graph::kNone ? nullptr : &graph_.layers[graph::at(node.layer)];
    emitter_.set_layer(layer == nullptr ? "" : layer->name);
    Step step{emitter_, node, id, {}};
    for (const graph::ValueId input : node.inputs) step.in.push_back(name_of(input));
    try {
      const Names made = std::visit([&](const auto& op) { return emit(step, op); }, node.op);
      for (std::size_t i = 0; i < made.size(); ++i) name_of(node.outputs[i]) = made[i];
    } catch (const Error& error) {
      if (layer == nullptr) throw;
      throw Error(error.code(),
                  fmt::format("'{}' ({}): {}", printable(layer->name), printable(layer->class_name), error.what()))
          .about(error.field());
    }
  }

  [[nodiscard]] ValueInfo info(graph::ValueId id, const Name& name) const {
    const graph::Value& value = graph_.value(id);
    ValueInfo out{name, value.dtype, {}};
    int axis = 0;
    for (const std::optional<Size>& size : emitter_.sizes(id)) out.shape.push_back(dimension(size, name, axis++));
    return out;
  }

  [[nodiscard]] Dimension dimension(const std::optional<Size>& size, const Name& name, int axis) const {
    if (size && size->fixed()) return size->offset;
    const bool plain = size && size->factor == 1 && size->offset == 0 && size->lengths.size() == 1;
    return plain ? samples_.lengths[static_cast<std::size_t>(size->lengths[0])].name
                 : name + "_" + std::to_string(axis);
  }

  /// Returns the value under its output's name. It is copied if no node computes it, or if it is already another
  /// output.
  [[nodiscard]] ValueInfo output(std::size_t i) {
    const graph::ValueId id = graph_.outputs[i].value;
    const Name& name = output_names_[i];
    const bool made = graph_.value(id).kind == graph::ValueKind::computed && emitter_.is_made(name_of(id));
    bool again = false;
    for (std::size_t j = 0; j < graph_.outputs.size(); ++j)
      again = again || (j != i && name_of(graph_.outputs[j].value) == name_of(id));
    if (made && !again) {
      emitter_.rename(name_of(id), name);
    } else {
      emitter_.copy(name_of(id), name);
    }
    return info(id, name);
  }

  const Samples& samples_;
  const graph::Graph& graph_;
  std::span<const Tensor> weights_;
  Emitter emitter_;
  Names names_, output_names_;
};

}  // namespace

Model export_model(const Samples& samples, std::span<const Tensor> weights, int opset) {
  if (!samples.base.states.empty()) throw bad_input("ONNX has no equivalent of state that persists between runs");
  for (const graph::Value& value : samples.base.values)
    if (!value.shape.elements())
      throw bad_input("ONNX cannot count the elements of shape {}; fix smaller sizes", value.shape.str());
  return {opset, Exporter(samples, weights, opset).run()};
}

}  // namespace attn::onnx
