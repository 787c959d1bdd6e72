#include "families/blocks/decoders/grouped_backbone.h"

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
  const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
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
  const TensorRef x = through_blocks(call(token_embedding(rows), {token_ids}), block_class, "transformer_layer",
                                     arguments, {{"decoder_padding_mask", padding_mask}});
  set_inputs({token_ids, padding_mask});
  output_struct = call(norm_class, "sequence_output_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {x});
}

}  // namespace attn::keras
