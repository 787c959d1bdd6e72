#include "families/blocks/t5_stacks.h"

#include <utility>

#include "classes/reading.h"

namespace attn::keras {

void T5Stacks::check_fields(const Ref& config) {
  TextBackbone::check_fields(config);
  if (!key_value_dim && hidden_dim < num_heads)
    config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
}

Layer& T5Stacks::token_rows(bool tied) {
  Json initializer = Initializer("TruncatedNormal").json;
  initializer["config"]["mean"] = 1.0;  // KerasHub passes the value as the first argument of TruncatedNormal
  return token_embedding({{"tie_weights", tied}, {"embeddings_initializer", initializer}});
}

TensorRef T5Stacks::item(const TensorRef& x, ArgList subscripts) {
  LayerPtr made = make_operation("GetItem", Json::object());
  if (items > 0) made->name += fmt::format("_{}", items);
  ++items;
  Layer& out = *made;
  add(std::move(made));
  return call(out, {x, std::move(subscripts)});
}

TensorRef T5Stacks::through(const std::string& side, TensorRef x, const ArgDict& kwargs) {
  std::optional<TensorRef> bias;
  for (std::int64_t i = 0; i < num_layers; ++i) {
    ArgDict all = kwargs;
    if (bias) all.emplace_back("position_bias", *bias);
    x = call("T5TransformerLayer", fmt::format("transformer_{}_layer_{}", side, i),
             {{"is_decoder", side == "decoder"},
              {"hidden_dim", hidden_dim.value},
              {"intermediate_dim", intermediate_dim.value},
              {"key_value_dim", key_value_dim ? key_value_dim->value : hidden_dim / num_heads},
              {"dropout", dropout.value},
              {"activation", activation.json},
              {"layer_norm_epsilon", layer_norm_epsilon.value},
              {"num_heads", num_heads.value},
              {"use_gated_activation", use_gated_activation},
              {"use_relative_attention_bias", i == 0}},
             {x}, all);
    bias = TensorRef{x.layer, x.node, 1};
  }
  return x;
}

TensorRef T5Stacks::ended(const std::string& side, const TensorRef& x) {
  return dropped_out(side + "_output_dropout",
                     call("T5LayerNorm", side + "_output_layer_norm", {{"epsilon", layer_norm_epsilon.value}}, {x}));
}

TensorPtr T5StacksLM::with_query_axis(Lowering& lowering, const TensorPtr& mask) {
  return Call::result(lowering.builder().expand_dims(mask->id, 1));
}

TensorPtr T5StacksLM::through(Lowering& lowering, const std::string& side, TensorPtr x, std::int64_t count,
                              const ArgDict& kwargs) {
  TensorPtr bias;
  for (std::int64_t i = 0; i < count; ++i) {
    ArgDict all = kwargs;
    if (bias) all.emplace_back("position_bias", bias);
    const auto results = results_of(lowering, fmt::format("transformer_{}_layer_{}", side, i), {x}, all);
    x = results[0];
    bias = results[1];
  }
  return call_layer(lowering, side + "_output_layer_norm", {x});
}

}  // namespace attn::keras
