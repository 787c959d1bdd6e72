#include "families/blocks/images/dino_blocks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attn/base/text.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

std::optional<std::vector<Shape>> DinoEmbedding::symbolic_shapes(Call& call) {
  // KerasHub's compute_output_shape takes the height for both sides.
  const Dim side = call.shape("inputs")[1] / patch_size;
  return {{{call.shape("inputs")[0], 1 + num_register_tokens + side * side, hidden_dim}}};
}

void DinoEmbedding::add_tokens(Weights& w, const Shape& mask_token, const graph::Initializer& registers) {
  class_token_ = w.add("cls_token", {1, 1, hidden_dim}, normal_numbers("truncated_normal", 0.02));
  if (use_mask_token) w.add("mask_token", mask_token, Initializer("zeros"));
  if (num_register_tokens > 0)
    register_tokens_ = w.add("register_tokens", {1, num_register_tokens, hidden_dim}, registers);
}

void DinoEmbedding::make_patches() {
  projection_ = &make("Conv2D", "patch_embeddings/projection", "patch_embeddings/projection",
                      {{"filters", hidden_dim.value},
                       {"kernel_size", patch_size.value},
                       {"strides", patch_size.value},
                       {"kernel_initializer", normal_initializer("TruncatedNormal", 0.02)}});
}

ValueId DinoEmbedding::with_class_token(Call& call) {
  Builder& b = call.builder();
  const ValueId patches = rows_of_cells(b, apply(call, *projection_, {call.tensor("inputs")})->id);
  return behind_rows(b, call.weight(class_token_), patches);
}

ValueId DinoEmbedding::with_registers(Call& call, ValueId x) {
  if (num_register_tokens == 0) return x;
  Builder& b = call.builder();
  const ValueId patches = behind_rows(b, call.weight(register_tokens_), rows_between(b, x, 1, std::nullopt));
  return b.apply(graph::Concat{1}, {rows_between(b, x, 0, 1), patches});
}

void DinoLayerScale::fields(Fields& f) {
  f.required("hidden_dim", hidden_dim);
  f("init_values", init_values);
}

void DinoLayerScale::build(Weights& w, Call&) {
  graph::Initializer constant = Initializer("constant").value;
  constant.value = init_values;
  w.add("lambda1", {hidden_dim}, constant);
}

Arg DinoLayerScale::call(Call& call) {
  return Call::result(call.builder().binary(graph::BinaryFn::multiply, call.tensor("inputs")->id, call.weight(0)));
}

void DinoEncoder::make_block(std::string_view class_name, std::int64_t number, Json arguments) {
  const std::string key = "layers/" + snake_case(class_name) + (number == 0 ? "" : fmt::format("_{}", number));
  blocks_.push_back(&make(class_name, fmt::format("layers_{}", number), key, std::move(arguments)));
}

void DinoEncoder::make_blocks(std::string_view class_name, std::int64_t count, const Json& arguments) {
  for (std::int64_t i = 0; i < count; ++i) make_block(class_name, i, arguments);
}

Arg DinoEncoder::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  TensorPtr x = call.tensor("inputs");
  ArgDict stages;
  for (Layer* block : blocks_) {
    x = apply(call, *block, {x}, block_arguments(call));
    if (call.lowering().symbolic()) block->node_shapes = {{call.shape(x)}};
    stages.emplace_back(fmt::format("stage{}", stages.size() + 1), x);
  }
  return ArgList{x, stages};
}

void check_registers(const Ref& config, std::int64_t count) {
  constexpr std::int64_t kMost = 1 << 16;
  if (count < 0 || count > kMost)
    config["num_register_tokens"].fail(fmt::format("expected an integer from 0 to {}", kMost));
}

std::optional<int> stage_result(std::string_view stage, std::int64_t count) {
  std::vector<std::string> stages;
  for (std::int64_t i = 1; i <= count; ++i) stages.push_back(fmt::format("stage{}", i));
  std::sort(stages.begin(), stages.end());
  const auto found = std::find(stages.begin(), stages.end(), stage);
  if (found == stages.end()) return std::nullopt;
  return static_cast<int>(found - stages.begin()) + 1;
}

}  // namespace attn::keras
