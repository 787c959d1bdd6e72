// The conversion of each operation. There is one overload for each operation: std::visit in export.cpp does not compile
// if one is missing.
#pragma once

#include <string_view>

#include "emitter.h"
#include "term.h"

namespace attn::onnx {

/// A node of the graph, with the ONNX names of its inputs.
struct Step {
  Emitter& emitter;
  const graph::Node& node;
  graph::NodeId id;
  Names in;

  [[nodiscard]] const graph::Value& input(std::size_t i) const { return emitter.graph().value(node.inputs[i]); }
  [[nodiscard]] const graph::Value& output(std::size_t i = 0) const { return emitter.graph().value(node.outputs[i]); }
  [[nodiscard]] int rank(std::size_t i) const { return input(i).shape.rank(); }
  [[nodiscard]] Sizes in_sizes(std::size_t i) const { return emitter.sizes(node.inputs[i]); }
  [[nodiscard]] Sizes out_sizes(std::size_t i = 0) const { return emitter.sizes(node.outputs[i]); }
  [[nodiscard]] Term term(std::size_t i) const { return {&emitter, in[i], input(i).dtype}; }
};

/// Throws Error (bad_input): ONNX has no equivalent.
[[noreturn]] void no_counterpart(const Step& step, std::string_view what = "");

/// f(x).
[[nodiscard]] Term apply(const graph::Unary& function, const Term& x);

/// Casts half precision to float32.
[[nodiscard]] Term widened(const Term& x);

Names emit(const Step& step, const graph::Unary& op);
Names emit(const Step& step, const graph::Binary& op);
Names emit(const Step& step, const graph::Select& op);
Names emit(const Step& step, const graph::Cast& op);
Names emit(const Step& step, const graph::Linear& op);
Names emit(const Step& step, const graph::MatMul& op);
Names emit(const Step& step, const graph::Einsum& op);
Names emit(const Step& step, const graph::Softmax& op);
Names emit(const Step& step, const graph::Attention& op);
Names emit(const Step& step, const graph::LayerNorm& op);
Names emit(const Step& step, const graph::BatchNorm& op);
Names emit(const Step& step, const graph::Reduce& op);
Names emit(const Step& step, const graph::Cumulate& op);
Names emit(const Step& step, const graph::Reshape& op);
Names emit(const Step& step, const graph::Transpose& op);
Names emit(const Step& step, const graph::Broadcast& op);
Names emit(const Step& step, const graph::Concat& op);
Names emit(const Step& step, const graph::Slice& op);
Names emit(const Step& step, const graph::Pad& op);
Names emit(const Step& step, const graph::Gather& op);
Names emit(const Step& step, const graph::ScatterAdd& op);
Names emit(const Step& step, const graph::Iota& op);
Names emit(const Step& step, const graph::Fill& op);
Names emit(const Step& step, const graph::Conv& op);
Names emit(const Step& step, const graph::Pool& op);
Names emit(const Step& step, const graph::Rnn& op);
Names emit(const Step& step, const graph::Quantize& op);
Names emit(const Step& step, const graph::Dequantize& op);
Names emit(const Step& step, const graph::QuantizedLinear& op);

}  // namespace attn::onnx
