#include "model/tasks/text_embedder.h"

#include <cstdint>
#include <limits>
#include <string>

namespace attn::keras {
namespace {

TensorRef padding_mask() { return {"padding_mask", 0, 0}; }
Json over_tokens() { return {{"axis", 1}, {"keepdims", false}}; }

}  // namespace

std::string_view TextEmbedder::compute_dtype() const { return name_of(policy.compute); }

TensorRef TextEmbedder::mean(const TensorRef& x) {
  const TensorRef column = operation("ExpandDims", {{"axis", -1}}, {padding_mask()});
  const TensorRef mask = operation("Cast", {{"dtype", compute_dtype()}}, {column});
  const TensorRef sum = operation("Sum", over_tokens(), {operation("Multiply", Json::object(), {x, mask})});
  const TensorRef tokens = operation("Sum", over_tokens(), {mask});
  return operation("TrueDivide", Json::object(), {sum, operation("Maximum", Json::object(), {tokens, how_.fewest})});
}

TensorRef TextEmbedder::maximum(const TensorRef& x) {
  const TensorRef column = operation("ExpandDims", {{"axis", -1}}, {padding_mask()});
  const TensorRef mask = operation("Cast", {{"dtype", "bool"}}, {column});
  const TensorRef shown = operation("Where", Json::object(), {mask, x, -std::numeric_limits<double>::infinity()});
  return operation("Max", {{"axis", 1}, {"keepdims", false}, {"initial", nullptr}}, {shown});
}

/// The last token of a text has a mask of one, and the position after it zero.
TensorRef TextEmbedder::last(const TensorRef& x) {
  const TensorRef mask = operation("Cast", {{"dtype", compute_dtype()}}, {padding_mask()});
  const TensorRef padded = operation("Pad", {{"pad_width", {{0, 0}, {0, 1}}}, {"mode", "constant"}}, {mask});
  graph::Range from_second;
  from_second.start = 1;
  const TensorRef next = operation("GetItem", Json::object(), {padded, ArgList{SliceArg{}, SliceArg{from_second}}});
  const TensorRef ends = operation("Subtract", Json::object(), {1.0, next});
  const TensorRef is_last = operation("Multiply", Json::object(), {mask, ends});
  const TensorRef column = operation("ExpandDims", {{"axis", -1}}, {is_last});
  return operation("Sum", over_tokens(), {operation("Multiply", Json::object(), {x, column})});
}

TensorRef TextEmbedder::pooled() {
  unused_weights_ = kLogitsTable;
  const TensorRef x = backbone_result(how_.sequence);
  if (pooling_mode.value == "mean") return mean(x);
  if (pooling_mode.value == "cls") return first_token(x);
  return pooling_mode.value == "max" ? maximum(x) : last(x);
}

void TextEmbedder::assemble() {
  TensorRef x = pooled();
  if (normalize) x = operation("Normalize", {{"axis", -1}, {"order", 2}, {"epsilon", nullptr}}, {x});
  output_struct = x;
}

}  // namespace attn::keras
