#include "families/blocks/decoders/grouped_backbone.h"

#include <vector>

namespace attn::keras {

void GroupedBackbone::sizes(Fields& f) {
  f.required("vocabulary_size", vocabulary_size);
  f.required("num_layers", num_layers);
  f.required("num_query_heads", num_query_heads);
  f.required("hidden_dim", hidden_dim);
}

void GroupedBackbone::check_fields(const Ref& config) {
  TextBackbone::check_fields(config);
  if (num_query_heads % num_key_value_heads != 0)
    config["num_key_value_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                   num_query_heads.value, num_key_value_heads.value));
}

void GroupedBackbone::assemble_blocks(AttentionFamily& family, bool tied, std::string_view block_class,
                                      std::string_view norm_class, const std::function<Json(std::int64_t)>& further) {
  const Json rows = {{"tie_weights", tied}, {"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}};
  Json block = arguments_of(family);
  block.update({{"intermediate_dim", intermediate_dim.value},
                {"num_query_heads", num_query_heads.value},
                {"num_key_value_heads", num_key_value_heads.value},
                {"layer_norm_epsilon", layer_norm_epsilon.value},
                {"kernel_initializer", normal_initializer("RandomNormal", 0.02)},
                {"dropout", dropout.value}});
  const auto arguments = [&](std::int64_t i) {
    Json all = block;
    all.update(further(i));
    return all;
  };
  Layer& embedding = token_embedding(rows);
  std::vector<Layer*> blocks;
  for (std::int64_t i = 0; i < num_layers; ++i)
    blocks.push_back(&layer(block_class, fmt::format("transformer_layer_{}", i), arguments(i)));
  Layer& norm = layer(norm_class, "sequence_output_layernorm", {{"epsilon", layer_norm_epsilon.value}});
  std::vector<TensorRef> inputs = {tokens("token_ids"), tokens("padding_mask")};
  const ArgDict mask = {{"decoder_padding_mask", inputs[1]}};
  TensorRef x = with_images(call(embedding, {inputs[0]}), inputs);
  for (Layer* made : blocks) x = call(*made, {x}, mask);
  set_inputs(inputs);
  output_struct = call(norm, {x});
}

}  // namespace attn::keras
