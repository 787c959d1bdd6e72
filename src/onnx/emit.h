// The conversion of each operation; the linker names one that is missing.
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

/// Throws Error (bad_input): ONNX has no equivalent of the step's operation.
[[noreturn]] void no_counterpart(const Step& step, std::string_view what = "");

/// Returns f(x).
[[nodiscard]] Term apply(const graph::Unary& function, const Term& x);

/// Casts half precision to float32.
[[nodiscard]] Term widened(const Term& x);

#define ATTN_DECLARE(type, name) Names emit(const Step& step, const graph::type& op);
ATTN_MODEL_OPS(ATTN_DECLARE)
ATTN_QUANTIZED_OPS(ATTN_DECLARE)
#undef ATTN_DECLARE

// Exported graphs contain no operations of training and of several ranks, and those of KV caches only if the model
// keeps states. None of them is converted.
#define ATTN_DEFINE(type, name) \
  [[noreturn]] inline Names emit(const Step& step, const graph::type&) { no_counterpart(step); }
ATTN_CACHE_OPS(ATTN_DEFINE)
ATTN_TRAINING_OPS(ATTN_DEFINE)
ATTN_GRADIENT_OPS(ATTN_DEFINE)
ATTN_COLLECTIVE_OPS(ATTN_DEFINE)
#undef ATTN_DEFINE

}  // namespace attn::onnx
