#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/graph/graph.h"

namespace attn::graph {
namespace {

std::string tuple(const auto& numbers) {
  std::vector<Dim> dims(numbers.begin(), numbers.end());
  return Shape(std::move(dims)).str();
}

std::string range_text(const Range& range) {
  std::string text;
  if (range.start) text += fmt::format("{}", *range.start);
  text += ':';
  if (range.stop) text += fmt::format("{}", *range.stop);
  if (range.step != 1) text += fmt::format(":{}", range.step);
  return text;
}

std::string_view name_of_padding(Padding padding) {
  switch (padding) {
    case Padding::valid:
      return "valid";
    case Padding::same:
      return "same";
    case Padding::causal:
      return "causal";
  }
  return "";
}

std::string_view name_of_mode(PadMode mode) {
  switch (mode) {
    case PadMode::constant:
      return "constant";
    case PadMode::reflect:
      return "reflect";
    case PadMode::symmetric:
      return "symmetric";
    case PadMode::edge:
      return "edge";
  }
  return "";
}

// The fields of an operation that are not visible in its inputs and outputs, as "key=value" or "flag".
class Fields {
 public:
  void field(std::string_view key, const auto& value) { texts_.push_back(fmt::format("{}={}", key, value)); }
  void flag(std::string_view key, bool value) {
    if (value) texts_.emplace_back(key);
  }
  void activation(const Unary& unary) {
    if (unary.fn != UnaryFn::linear) field("activation", name_of(unary.fn));
  }
  [[nodiscard]] std::vector<std::string> texts() && { return std::move(texts_); }

  void operator()(const Unary& op) {
    if (op.a != 0.0 || op.b != 0.0 || op.c != 0.0) {
      for (const double parameter : {op.a, op.b, op.c}) texts_.push_back(python_repr(parameter));
    }
  }
  void operator()(const Binary&) {}
  void operator()(const Select&) {}
  void operator()(const Cast&) {}
  void operator()(const Linear& op) {
    if (op.contracted != 1) field("contracted", op.contracted);
    activation(op.activation);
    flag("residual", op.residual);
  }
  void operator()(const Quantize& op) { field("axes", tuple(op.axes)); }
  void operator()(const Dequantize& op) {
    if (op.nibbles) field("size", op.nibbles->size);
    if (op.group_axis) field("group_axis", *op.group_axis);
  }
  void operator()(const QuantizedLinear& op) {
    if (op.contracted != 1) field("contracted", op.contracted);
    field("bits", op.pairs == Pairs::none ? 8 : 4);
    flag("transposed", op.transposed);
    flag("grouped", op.grouped);
    flag("inputs", op.inputs.has_value());
    activation(op.activation);
    flag("residual", op.residual);
  }
  void operator()(const MatMul& op) {
    flag("transpose_x", op.transpose_x);
    flag("transpose_y", op.transpose_y);
  }
  void operator()(const Einsum& op) { texts_.push_back("'" + printable(op.equation) + "'"); }
  void operator()(const Softmax& op) { field("axes", tuple(op.axes)); }
  void operator()(const Attention& op) {
    common(op);
    flag("scores", op.scores);
    flag("lse", op.lse);
    if (op.packed_heads > 0) field("packed_heads", op.packed_heads);
    if (op.varlen > 0) field("varlen", op.varlen);
  }
  void operator()(const Append&) {}
  void operator()(const CachedAttention& op) {
    common(op);
    flag("sources", op.sources);
  }
  void operator()(const LayerNorm& op) {
    field("axes", tuple(op.axes));
    field("epsilon", python_repr(op.epsilon));
  }
  void operator()(const BatchNorm& op) {
    field("axis", op.axis);
    field("epsilon", python_repr(op.epsilon));
  }
  void operator()(const Reduce& op) {
    field("axes", tuple(op.axes));
    flag("keepdims", op.keepdims);
  }
  void operator()(const Cumulate& op) {
    field("axis", op.axis);
    flag("reverse", op.reverse);
    flag("exclusive", op.exclusive);
  }
  void operator()(const Reshape&) {}
  void operator()(const Transpose& op) { field("permutation", tuple(op.permutation)); }
  void operator()(const Broadcast&) {}
  void operator()(const Concat& op) { field("axis", op.axis); }
  void operator()(const Slice& op) { ranges(op.ranges); }
  void operator()(const Pad& op) {
    field("mode", name_of_mode(op.mode));
    field("before", tuple(op.before));
    field("after", tuple(op.after));
    if (op.mode == PadMode::constant) field("value", python_repr(op.value));
  }
  void operator()(const Gather& op) { field("axis", op.axis); }
  void operator()(const Iota& op) {
    field("axis", op.axis);
    field("start", python_repr(op.start));
    field("step", python_repr(op.step));
  }
  void operator()(const Fill& op) { texts_.push_back(python_repr(op.value)); }
  void operator()(const Conv& op) {
    field("strides", tuple(op.strides));
    field("dilation", tuple(op.dilation));
    field("padding", name_of_padding(op.padding));
    if (op.groups != 1) field("groups", op.groups);
    activation(op.activation);
  }
  void operator()(const Pool& op) {
    field("window", tuple(op.window));
    field("strides", tuple(op.strides));
    field("padding", name_of_padding(op.padding));
  }
  void operator()(const Rnn& op) {
    activation(op.activation);
    field("recurrent_activation", name_of(op.recurrent_activation.fn));
    flag("reset_after", op.cell == RnnCell::gru && op.reset_after);
    flag("go_backwards", op.go_backwards);
    flag("return_sequences", op.return_sequences);
    flag("return_state", op.return_state);
    flag("zero_output_for_mask", op.zero_output_for_mask);
  }
  void operator()(const DeltaRule&) {}
  // A gradient shows its forward operation.
  void operator()(const UnaryGrad& op) {
    field("of", name_of(op.forward.fn));
    (*this)(op.forward);
  }
  void operator()(const AttentionGrad& op) { (*this)(op.forward); }
  void operator()(const LayerNormGrad& op) {
    field("of", name_of(Op{op.forward}));
    (*this)(op.forward);
  }
  void operator()(const BatchNormTraining& op) {
    field("axis", op.axis);
    field("epsilon", python_repr(op.epsilon));
    flag("mask", op.mask);
  }
  void operator()(const BatchNormGrad& op) { (*this)(op.forward); }
  void operator()(const Scatter& op) { ranges(op.ranges); }
  void operator()(const ScatterAdd& op) { field("axis", op.axis); }
  void operator()(const ConvInputGrad& op) { (*this)(op.forward); }
  void operator()(const ConvKernelGrad& op) { (*this)(op.forward); }
  void operator()(const PoolGrad& op) {
    field("of", name_of(Op{op.forward}));
    (*this)(op.forward);
  }
  void operator()(const RnnGrad& op) {
    field("of", name_of(Op{op.forward}));
    (*this)(op.forward);
  }
  void operator()(const DeltaRuleGrad&) {}
  void operator()(const SoftmaxCrossEntropy&) {}
  void operator()(const SoftmaxCrossEntropyGrad&) {}
  void operator()(const Dropout& op) {
    field("rate", python_repr(op.rate));
    field("seed", op.seed);
    field("noise", tuple(op.noise));
  }
  void operator()(const AllReduce& op) { flag("maximum", op.maximum); }
  void operator()(const AllGather& op) { parts(op); }
  void operator()(const ReduceScatter& op) { parts(op); }
  void operator()(const Shift& op) {
    parts(op);
    field("turns", op.turns);
  }

 private:
  // Adds the fields of collectives over shards.
  void parts(const auto& op) {
    field("axis", op.axis);
    field("sizes", tuple(Shape(op.sizes)));
    field("rank", op.rank);
  }
  void ranges(const std::vector<Range>& all) {
    std::vector<std::string> texts;
    for (const Range& range : all) texts.push_back(range_text(range));
    texts_.push_back("[" + join(texts, ", ") + "]");
  }
  // Adds the fields that both attention operations have.
  void common(const auto& attention) {
    field("scale", python_repr(attention.scale));
    flag("explicit", attention.path == AttentionPath::explicit_);
    if (attention.soft_cap > 0.0) field("soft_cap", python_repr(attention.soft_cap));
    flag("bias", attention.bias);
    flag("causal", attention.causal);
    if (attention.window) field("window", *attention.window);
  }

  std::vector<std::string> texts_;
};

std::string value_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.kind == ValueKind::weight && !value.name.empty()) return printable(value.name);
  if (value.kind == ValueKind::constant && value.shape.rank() == 0) return python_repr(value.constant.at(0));
  return fmt::format("%{}", id);
}

std::string type_text(const Value& value) { return fmt::format("{} {}", name_of(value.dtype), value.shape.str()); }

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    text += fmt::format("%{} = input {} {}\n", id, printable(value.name), type_text(value));
  }
  for (const ValueId id : graph.states) {
    const Value& value = graph.value(id);
    text += fmt::format("%{} = state {} {}\n", id, printable(value.name), type_text(value));
  }
  for (const Node& node : graph.nodes) {
    std::vector<std::string> outputs, types, arguments;
    for (const ValueId id : node.outputs) {
      outputs.push_back(fmt::format("%{}", id));
      types.push_back(type_text(graph.value(id)));
    }
    for (const ValueId id : node.inputs) arguments.push_back(value_text(graph, id));
    Fields fields;
    std::visit(fields, node.op);
    for (std::string& field : std::move(fields).texts()) arguments.push_back(std::move(field));
    text +=
        fmt::format("{} = {}({}) {}", join(outputs, ", "), name_of(node.op), join(arguments, ", "), join(types, ", "));
    if (node.layer != kNone) {
      text += fmt::format("  # {}", printable(graph.layers[static_cast<std::size_t>(node.layer)].name));
    }
    text += '\n';
  }
  for (const Output& output : graph.outputs) {
    text += fmt::format("{} = {}\n", printable(output.name), value_text(graph, output.value));
  }
  for (const Scores& scores : graph.scores) {
    text += fmt::format("scores of {} = {}\n", printable(scores.name), value_text(graph, scores.value));
  }
  return text;
}

}  // namespace attn::graph
