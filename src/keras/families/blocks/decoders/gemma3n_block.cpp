// Letters: B batch, T tokens, S streams, D width, P features of the input for each layer.
#include "families/blocks/decoders/gemma3n_block.h"

#include <array>
#include <cmath>
#include <utility>

namespace attn::keras {

using graph::ValueId;

void Gemma3nTextDecoderBlock::fields(Fields& f) {
  f.required("hidden_size", hidden_size);
  f.required("rms_norm_eps", rms_norm_eps);
  f.required("num_attention_heads", num_attention_heads);
  f.required("num_key_value_heads", num_key_value_heads);
  f.required("head_dim", head_dim);
  f.required("attention_bias", attention_bias);
  f.required("attention_dropout", attention_dropout);
  f.required("rope_max_wavelength", rope_max_wavelength);
  f.required("rope_scaling_factor", rope_scaling_factor);
  f.required("sliding_window", sliding_window);
  f.required("intermediate_size", intermediate_size);
  f.required("hidden_activation", hidden_activation);
  f.required("activation_sparsity", activation_sparsity);
  f.required("altup_num_inputs", altup_num_inputs);
  f.required("altup_coef_clip", altup_coef_clip);
  f.required("altup_active_idx", altup_active_idx);
  f.required("altup_correct_scale", altup_correct_scale);
  f.required("laurel_rank", laurel_rank);
  f.required("hidden_size_per_layer_input", hidden_size_per_layer_input);
  f.required("is_kv_shared_layer", is_kv_shared_layer);
}

void Gemma3nTextDecoderBlock::check(const Ref& config) {
  if (!gemma3n_activation(hidden_activation)) config["hidden_activation"].fail("expected the name of an activation");
}

std::span<const std::string_view> Gemma3nTextDecoderBlock::arguments() const {
  static constexpr std::array<std::string_view, 5> kNames = {"streams", "padding_mask", "attention_mask",
                                                             "per_layer_input", "shared_kv"};
  return kNames;
}

void Gemma3nTextDecoderBlock::build(Weights&, Call&) {
  const auto or_null = [](const auto& value) { return value ? Json(value->value) : Json(); };
  const auto norm = [&](const char* called) {
    return &make("Gemma3nRMSNorm", called, called, {{"dim", hidden_size.value}, {"eps", rms_norm_eps.value}});
  };
  attention_ = &make("Gemma3nTextAttention", "attention", "attention",
                     {{"hidden_size", hidden_size.value},
                      {"num_attention_heads", num_attention_heads.value},
                      {"num_key_value_heads", num_key_value_heads.value},
                      {"head_dim", head_dim.value},
                      {"attention_dropout", attention_dropout.value},
                      {"attention_bias", attention_bias},
                      {"rms_norm_eps", rms_norm_eps.value},
                      {"rope_max_wavelength", rope_max_wavelength.value},
                      {"rope_scaling_factor", or_null(rope_scaling_factor)},
                      {"sliding_window", or_null(sliding_window)},
                      {"is_kv_shared_layer", is_kv_shared_layer}});
  mlp_ = &make("Gemma3nTextMLP", "mlp", "mlp",
               {{"hidden_size", hidden_size.value},
                {"intermediate_size", intermediate_size.value},
                {"hidden_activation", hidden_activation},
                {"activation_sparsity", activation_sparsity.value}});
  input_norm_ = norm("input_layernorm");
  attention_norm_ = norm("post_attention_layernorm");
  feed_forward_norm_ = norm("pre_feedforward_layernorm");
  last_norm_ = norm("post_feedforward_layernorm");
  altup_ = &dynamic_cast<Gemma3nTextAltUp&>(make("Gemma3nTextAltUp", "altup", "altup",
                                                 {{"hidden_size", hidden_size.value},
                                                  {"altup_num_inputs", altup_num_inputs.value},
                                                  {"altup_coef_clip", or_null(altup_coef_clip)},
                                                  {"altup_active_idx", altup_active_idx},
                                                  {"rms_norm_eps", rms_norm_eps.value},
                                                  {"altup_correct_scale", altup_correct_scale}}));
  laurel_ = &make(
      "Gemma3nTextLaurelBlock", "laurel", "laurel",
      {{"hidden_size", hidden_size.value}, {"laurel_rank", laurel_rank.value}, {"rms_norm_eps", rms_norm_eps.value}});
  gate_ = &make_unbiased("per_layer_input_gate", hidden_size_per_layer_input);
  projection_ = &make_unbiased("per_layer_projection", hidden_size);
  own_norm_ = norm("post_per_layer_input_norm");
}

Arg Gemma3nTextDecoderBlock::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  graph::Builder& b = call.builder();
  const TensorPtr predicted = apply(call, *altup_, {call.tensor("streams")});
  const Expression all(b, predicted->id);
  const Shape in = all.shape();
  const Expression chosen = streams(all, altup_active_idx, altup_active_idx + 1);
  const TensorPtr active = Call::result(b.reshape(chosen, {in[0], in[1], in[3]}));
  const TensorPtr normal = apply(call, *input_norm_, {active});
  ArgDict how = attending(call, active);
  if (const TensorPtr shared = call.optional_tensor("shared_kv")) how.emplace_back("shared_kv", shared);
  const Arg results = call.lowering().apply(*attention_, ArgList{normal}, how);
  const ArgList& attended = *results.as<ArgList>();
  const TensorPtr x = sum(call, active, apply(call, *attention_norm_, {attended[0]}));
  const TensorPtr both = sum(call, x, apply(call, *laurel_, {normal}));
  const TensorPtr made = feed_forward(call, Call::result(Expression(b, both->id) * (1.0 / std::sqrt(2.0))));
  const TensorPtr activated = Call::result(b.expand_dims(made->id, 2));  // (B,T,1,D)
  const Expression corrected(b, apply(call, *altup_, {predicted}, {{"activated", activated}})->id);
  const Expression added = gated(call, streams(corrected, altup_active_idx, altup_active_idx + 1));
  if (altup_num_inputs == 1) return ArgList{Call::result(corrected), attended[1]};
  const Expression others = streams(corrected, 1, altup_num_inputs) + added;
  return ArgList{Call::result(b.apply(graph::Concat{2}, {streams(corrected, 0, 1), others})), attended[1]};
}

TensorPtr Gemma3nTextDecoderBlock::feed_forward(Call& call, const TensorPtr& x) {
  return sum(call, x, apply(call, *last_norm_, {apply(call, *mlp_, {apply(call, *feed_forward_norm_, {x})})}));
}

/// (B,T,1,D) → (B,T,1,D)
Expression Gemma3nTextDecoderBlock::gated(Call& call, const Expression& active) {
  graph::Builder& b = call.builder();
  const Shape in = active.shape();
  const ValueId scaled = b.reshape(altup_->scaled(call, active), {in[0], in[1], in[3]});
  const ValueId gate = apply(call, *gate_, {Call::result(scaled)})->id;
  const Expression own(b, call.tensor("per_layer_input")->id);
  const Expression x = Expression(b, gemma3n_activation(hidden_activation)->apply(b, gate)) * own;
  const TensorPtr normal = apply(call, *own_norm_, {apply(call, *projection_, {Call::result(x)})});
  return {b, b.expand_dims(normal->id, 2)};
}

}  // namespace attn::keras
