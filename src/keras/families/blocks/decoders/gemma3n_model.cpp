// Letters: see gemma3n_model.h.
#include "families/blocks/decoders/gemma3n_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "families/blocks/decoders/gemma3n_parts.h"

namespace attn::keras {
namespace {

using graph::ValueId;

constexpr std::string_view kSliding = "sliding_attention";

/// Returns the name that Keras gives to the layer number `i` of a list, in .weights.h5.
std::string in_list(const char* list, const char* of_class, std::size_t i) {
  return i == 0 ? fmt::format("{}/{}", list, of_class) : fmt::format("{}/{}_{}", list, of_class, i);
}

}  // namespace

void Gemma3nTextModel::fields(Fields& f) {
  f.required("pad_token_id", pad_token_id);
  f.required("vocab_size", vocab_size);
  f.required("hidden_size", hidden_size);
  f.required("num_hidden_layers", num_hidden_layers);
  f.required("rms_norm_eps", rms_norm_eps);
  f.required("num_attention_heads", num_attention_heads);
  f.required("num_key_value_heads", num_key_value_heads);
  f.required("head_dim", head_dim);
  f.required("attention_bias", attention_bias);
  f.required("attention_dropout", attention_dropout);
  f.required("layer_types", layer_types);
  f.required("sliding_window", sliding_window);
  f.required("rope_theta", rope_theta);
  f.required("rope_scaling", rope_scaling);
  f.required("rope_local_base_freq", rope_local_base_freq);
  f.required("max_position_embeddings", max_position_embeddings);
  f.required("intermediate_size", intermediate_size);
  f.required("hidden_activation", hidden_activation);
  f.required("activation_sparsity_pattern", activation_sparsity_pattern);
  f.required("altup_num_inputs", altup_num_inputs);
  f.required("altup_coef_clip", altup_coef_clip);
  f.required("altup_active_idx", altup_active_idx);
  f.required("altup_correct_scale", altup_correct_scale);
  f.required("laurel_rank", laurel_rank);
  f.required("hidden_size_per_layer_input", hidden_size_per_layer_input);
  f.required("vocab_size_per_layer_input", vocab_size_per_layer_input);
  f.required("num_kv_shared_layers", num_kv_shared_layers);
  f("final_logit_soft_cap", final_logit_soft_cap);
}

void Gemma3nTextModel::check(const Ref& config) {
  constexpr std::int64_t kMostPerLayer = 1 << 20, kMostInputs = 64;
  const auto one_each = [&](const char* key, std::size_t size) {
    if (size < static_cast<std::size_t>(num_hidden_layers))
      config[key].fail(fmt::format("{} values for {} layers", size, num_hidden_layers.value));
  };
  if (num_hidden_layers > kMaxBlocks)
    config["num_hidden_layers"].fail(fmt::format("more than {} layers are not accepted", kMaxBlocks));
  if (altup_num_inputs > kMostInputs)
    config["altup_num_inputs"].fail(fmt::format("more than {} inputs are not accepted", kMostInputs));
  one_each("layer_types", layer_types.size());
  one_each("intermediate_size", intermediate_size.size());
  if (!activation_sparsity_pattern)
    activation_sparsity_pattern.emplace(static_cast<std::size_t>(num_hidden_layers), Number(0.0));
  one_each("activation_sparsity_pattern", activation_sparsity_pattern->size());
  if (hidden_size_per_layer_input > kMostPerLayer)
    config["hidden_size_per_layer_input"].fail(fmt::format("expected at most {}", kMostPerLayer));
  for (std::int64_t i = 0; i < num_hidden_layers; ++i) {
    if (!is_shared(i)) continue;
    const auto own = layer_types.begin() + (num_hidden_layers - num_kv_shared_layers);
    if (std::find(layer_types.begin(), own, layer_types[static_cast<std::size_t>(i)]) == own)
      config["num_kv_shared_layers"].fail(
          fmt::format("layer {} shares keys, but no layer of its type before the shared ones has any", i));
  }
}

bool Gemma3nTextModel::is_shared(std::int64_t i) const {
  const std::int64_t first = num_hidden_layers - std::max<std::int64_t>(num_kv_shared_layers, 0);
  return first > 0 && i >= first;
}

std::span<const std::string_view> Gemma3nTextModel::arguments() const {
  static constexpr std::array<std::string_view, 4> kNames = {"input_ids", "padding_mask", "inputs_embeds",
                                                             "per_layer_inputs"};
  return kNames;
}

void Gemma3nTextModel::build(Weights&, Call&) { make_layers(); }

void Gemma3nTextModel::make_layers() {
  if (embed_tokens_ != nullptr) return;
  const std::int64_t all = num_hidden_layers * hidden_size_per_layer_input;
  const auto embedding = [&](const char* called, std::int64_t rows, std::int64_t width, double scale) {
    return &make("Gemma3nTextScaledWordEmbedding", called, called,
                 {{"num_embeddings", rows}, {"embedding_dim", width}, {"embed_scale", scale}});
  };
  const auto norm = [&](const char* called, const char* attribute, std::int64_t width) {
    return &make("Gemma3nRMSNorm", called, attribute, {{"dim", width}, {"eps", rms_norm_eps.value}});
  };
  embed_tokens_ = embedding("embed_tokens", vocab_size, hidden_size, std::sqrt(hidden_size.value));
  make_blocks();
  norm_ = norm("norm", "final_normalization", hidden_size);
  embed_per_layer_ = embedding("embed_tokens_per_layer", vocab_size_per_layer_input, all,
                               std::sqrt(hidden_size_per_layer_input.value));
  projection_ = &make_unbiased("per_layer_model_projection", all);
  projection_norm_ = norm("per_layer_projection_norm", "per_layer_projection_norm", hidden_size_per_layer_input);
  const auto projections = [&](const char* called, const char* list, std::vector<Layer*>& out) {
    for (std::int64_t i = 1; i < altup_num_inputs; ++i)
      out.push_back(&make("Dense", fmt::format("{}_{}", called, i), in_list(list, "dense", out.size()),
                          {{"units", hidden_size.value}, {"use_bias", false}}));
  };
  projections("altup_projection", "altup_projections", entries_);
  projections("altup_unembed_projection", "altup_unembed_projections", exits_);
}

void Gemma3nTextModel::make_blocks() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_hidden_layers); ++i) {
    const bool sliding = layer_types[i] == kSliding;
    blocks_.push_back(&make("Gemma3nTextDecoderBlock", fmt::format("decoder_block_{}", i),
                            in_list("transformer_layers", "gemma3n_text_decoder_block", i),
                            {{"hidden_size", hidden_size.value},
                             {"rms_norm_eps", rms_norm_eps.value},
                             {"num_attention_heads", num_attention_heads.value},
                             {"num_key_value_heads", num_key_value_heads.value},
                             {"head_dim", head_dim.value},
                             {"attention_bias", attention_bias},
                             {"attention_dropout", attention_dropout.value},
                             {"rope_max_wavelength", sliding ? rope_local_base_freq.value : rope_theta.value},
                             {"rope_scaling_factor", rope_scaling.json},
                             {"sliding_window", sliding ? Json(sliding_window.value) : Json()},
                             {"intermediate_size", intermediate_size[i].value},
                             {"hidden_activation", hidden_activation},
                             {"activation_sparsity", (*activation_sparsity_pattern)[i].value},
                             {"altup_num_inputs", altup_num_inputs.value},
                             {"altup_coef_clip", altup_coef_clip ? Json(altup_coef_clip->value) : Json()},
                             {"altup_active_idx", altup_active_idx},
                             {"altup_correct_scale", altup_correct_scale},
                             {"laurel_rank", laurel_rank.value},
                             {"hidden_size_per_layer_input", hidden_size_per_layer_input.value},
                             {"is_kv_shared_layer", is_shared(static_cast<std::int64_t>(i))}}));
  }
}

TensorPtr Gemma3nTextModel::embedded(Call& call, const TensorPtr& token_ids) {
  return apply(call, *embed_tokens_, {token_ids});
}

TensorPtr Gemma3nTextModel::layer_inputs(Call& call, const TensorPtr& token_ids, const TensorPtr& rows) {
  graph::Builder& b = call.builder();
  const Shape in = call.shape(token_ids);
  const auto by_layer = [&](ValueId x) {
    return Expression(b, b.reshape(x, {in[0], in[1], num_hidden_layers, hidden_size_per_layer_input}));
  };
  const Expression looked_up = by_layer(apply(call, *embed_per_layer_, {token_ids})->id);
  const Expression projected(b, apply(call, *projection_, {rows})->id);
  const TensorPtr all = Call::result(by_layer(projected * (1.0 / std::sqrt(hidden_size.value))));
  const Expression normal(b, apply(call, *projection_norm_, {all})->id);
  return Call::result((normal + looked_up) * (1.0 / std::sqrt(2.0)));
}

Layer& Gemma3nTextModel::token_embedding() {
  make_layers();
  return *embed_tokens_;
}

Expression Gemma3nTextModel::scaled_like(const Expression& x, const Expression& like) {
  const graph::Reduce over{graph::ReduceFn::mean, {2}, true};
  const Expression squares = square(x).reduced(over);
  return x * sqrt(square(like).reduced(over)) / sqrt(max(squares, squares.number(1e-5)));
}

Arg Gemma3nTextModel::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  graph::Builder& b = call.builder();
  const auto projected = [&](Layer& layer, const Expression& x) {
    return Expression(b, apply(call, layer, {Call::result(x)})->id);
  };
  const Expression first(b, call.tensor("inputs_embeds")->id);
  std::vector<ValueId> entries = {b.expand_dims(first, 2)};
  for (Layer* entry : entries_) entries.push_back(b.expand_dims(scaled_like(projected(*entry, first), first), 2));
  TensorPtr all = Call::result(entries.size() == 1 ? entries[0] : b.apply(graph::Concat{2}, entries));  // (B,T,S,D)

  const Expression inputs(b, call.tensor("per_layer_inputs")->id);
  const Shape in = inputs.shape();
  std::map<std::string, Arg> keys;  // those of the last block of each type that has its own
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto at = static_cast<Dim>(i);
    const ValueId own = b.reshape(streams(inputs, at, at + 1), {in[0], in[1], in[3]});
    ArgDict kwargs{{"padding_mask", call.arg("padding_mask")}, {"per_layer_input", Call::result(own)}};
    if (is_shared(at)) kwargs.emplace_back("shared_kv", keys.at(layer_types[i]));
    const Arg results = call.lowering().apply(*blocks_[i], ArgList{all}, kwargs);
    all = *(*results.as<ArgList>())[0].as<TensorPtr>();
    if (!is_shared(at)) keys[layer_types[i]] = (*results.as<ArgList>())[1];
  }

  const auto stream = [&](Dim i) { return Expression(b, b.reshape(streams({b, all->id}, i, i + 1), b.shape(first))); };
  const Expression zeroth = stream(0);
  Expression total = zeroth;
  for (std::size_t i = 0; i < exits_.size(); ++i)
    total = total + scaled_like(projected(*exits_[i], stream(static_cast<Dim>(i) + 1)), zeroth);
  return apply(call, *norm_, {Call::result(total * (1.0 / static_cast<double>(altup_num_inputs.value)))});
}

}  // namespace attn::keras
