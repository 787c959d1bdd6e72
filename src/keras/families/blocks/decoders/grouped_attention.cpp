#include "families/blocks/decoders/grouped_attention.h"

#include <array>
#include <cmath>

#include "families/blocks/attention_sinks.h"
#include "families/blocks/rms_norm.h"

namespace attn::keras {

using graph::ValueId;

void LinearRotaryFamily::check(const Ref& config) const {
  if (!(rope_max_wavelength > 0.0)) config["rope_max_wavelength"].fail("expected a number > 0");
  if (!(rope_scaling_factor > 0.0)) config["rope_scaling_factor"].fail("expected a number > 0");
}

ValueId LinearRotaryFamily::turned(Call& call, ValueId x) const {
  const Dim size = call.builder().shape(x).back();
  return keras::turned(call, x, {inverse_frequencies(rope_max_wavelength, size, rope_scaling_factor)});
}

void GroupedAttention::fields(Fields& f) {
  f.required("num_query_heads", num_query_heads);
  f.required("num_key_value_heads", num_key_value_heads);
  family_->fields(f);
  f("kernel_initializer", kernel_initializer);
  if (family_->biased()) f("bias_initializer", bias_initializer);
  f("dropout", dropout);
}

void GroupedAttention::check(const Ref& config) {
  HeadAttention::check(config);
  if (num_query_heads % num_key_value_heads != 0)
    config["num_query_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                               num_query_heads.value, num_key_value_heads.value));
  family_->check(config);
}

std::span<const std::string_view> GroupedAttention::arguments() const {
  // The last argument is attn's own: blocks state by it which parts kernels can skip, instead of passing a mask.
  static constexpr std::array<std::string_view, 6> kNames = {"hidden_states",      "attention_mask", "cache",
                                                             "cache_update_index", "training",       "use_causal_mask"};
  return kNames;
}

void GroupedAttention::build(Weights& w, Call& call) {
  const Shape in = call.shape("hidden_states");
  if (in.rank() != 3 || in.back() == kUnknown)
    throw bad_input("expected an input (batch, length, width), got {}", in.str());
  head_size_ = family_->head_size(in.back(), num_query_heads);
  if (head_size_ < 1) throw bad_input("{} features are too few for {} heads", in.back(), num_query_heads.value);
  const std::string prefix(family_->prefix());
  if (family_->has_sinks()) sinks_ = w.add("sinks", {num_query_heads}, Initializer("random_normal"));
  const Shape width{in.back()}, heads{num_query_heads, head_size_}, shared{num_key_value_heads, head_size_};
  const auto norm = [&](std::string_view called, std::string_view attribute) {
    if (!family_->norm_epsilon()) return 0;
    int index = 0;
    w.scope(called, prefix + std::string(attribute),
            [&] { index = w.add("scale", {head_size_}, Initializer("ones")); });
    return index;
  };
  query_ = declare(w, "query", prefix + "query_dense", width, heads, family_->biased());
  query_norm_ = norm("query_dense_layernorm", "query_dense_layer_norm");
  key_ = declare(w, "key", prefix + "key_dense", width, shared, family_->biased());
  key_norm_ = norm("key_dense_layernorm", "key_dense_layer_norm");
  value_ = declare(w, "value", prefix + "value_dense", width, shared, family_->biased());
  output_ = declare(w, "attention_output", std::string(family_->output_prefix()) + "output_dense", heads, width,
                    family_->output_biased());
}

Arg GroupedAttention::call(Call& call) {
  graph::Builder& b = call.builder();
  const ValueId x = call.tensor("hidden_states")->id;
  const auto placed = [&](const Projection& projection, int norm) {
    ValueId heads = project(call, x, projection);  // (B,T,N or K,H)
    if (const auto epsilon = family_->norm_epsilon())
      heads = rms_normalized(b, heads, call.weight(norm), *epsilon, call.compute_dtype());
    return family_->turned(call, heads);
  };
  const ValueId query = placed(query_, query_norm_), key = placed(key_, key_norm_), value = project(call, x, value_);
  AttentionOptions how;
  how.scale = 1.0 / std::sqrt(static_cast<double>(head_size_));
  how.path = softmax_path(call);
  how.causal = call.flag("use_causal_mask");
  how.window = family_->window();
  how.masks = masks(call, std::nullopt);
  how.scores = call.lowering().want_scores;
  const Attended attended = family_->has_sinks() ? attend_with_sinks(call, query, key, value, call.weight(sinks_), how)
                                                 : keras::attend(call, query, key, value, how);
  return results(call, project(call, attended.context, output_, 2), {attended, {}}, std::nullopt);
}

}  // namespace attn::keras
