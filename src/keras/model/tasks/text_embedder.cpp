#include "model/tasks/text_embedder.h"

#include <limits>

namespace attn::keras {

TextEmbedder::TextEmbedder(EmbedderKind which)
    : kind_(which),
      pooling_mode(which == EmbedderKind::decoder ? Choice{"last", {"last", "mean"}}
                                                  : Choice{"mean", {"mean", "cls", "max"}}) {}

TensorRef TextEmbedder::last_token(const TensorRef& x, const TensorRef& mask) {
  const TensorRef kept = operation("Cast", {{"dtype", std::string(name_of(policy.compute))}}, {mask});
  const TensorRef padded = operation("Pad", {{"pad_width", {{0, 0}, {0, 1}}}, {"mode", "constant"}}, {kept});
  const TensorRef next =
      operation("GetItem", Json::object(), {padded, ArgList{SliceArg{}, SliceArg{{std::int64_t{1}, {}, 1}}}});
  const TensorRef is_last = operation("Subtract", Json::object(), {1.0, next});
  const TensorRef chosen = operation("Multiply", Json::object(), {kept, is_last});
  const TensorRef column = operation("ExpandDims", {{"axis", -1}}, {chosen});
  return operation("Sum", {{"axis", 1}, {"keepdims", false}}, {operation("Multiply", Json::object(), {x, column})});
}

TensorRef TextEmbedder::mean(const TensorRef& x, const TensorRef& mask) {
  const double least = kind_ == EmbedderKind::bert ? 1e-9 : 1e-5;
  const Json over_positions = {{"axis", 1}, {"keepdims", false}};
  const TensorRef column = operation("ExpandDims", {{"axis", -1}}, {mask});
  const TensorRef kept = operation("Cast", {{"dtype", std::string(name_of(policy.compute))}}, {column});
  const TensorRef sum = operation("Sum", over_positions, {operation("Multiply", Json::object(), {x, kept})});
  const TensorRef count = operation("Maximum", Json::object(), {operation("Sum", over_positions, {kept}), least});
  return operation("TrueDivide", Json::object(), {sum, count});
}

TensorRef TextEmbedder::maximum(const TensorRef& x, const TensorRef& mask) {
  const TensorRef column = operation("ExpandDims", {{"axis", -1}}, {mask});
  const TensorRef kept = operation("Cast", {{"dtype", "bool"}}, {column});
  const TensorRef shown = operation("Where", Json::object(), {kept, x, -std::numeric_limits<double>::infinity()});
  return operation("Max", {{"axis", 1}, {"keepdims", false}}, {shown});
}

void TextEmbedder::assemble() {
  if (kind_ == EmbedderKind::decoder && backbone_has("pooled_output")) {
    output_struct = backbone_result("pooled_output");
    return;
  }
  const TensorRef x = backbone_result(kind_ == EmbedderKind::bert ? "sequence_output" : "");
  const TensorRef mask{"padding_mask", 0, 0};
  TensorRef pooled = pooling_mode.value == "last"   ? last_token(x, mask)
                     : pooling_mode.value == "mean" ? mean(x, mask)
                     : pooling_mode.value == "max"  ? maximum(x, mask)
                                                    : first_token(x);
  if (normalize) pooled = operation("Normalize", {{"axis", -1}, {"order", 2}}, {pooled});
  output_struct = pooled;
}

}  // namespace attn::keras
