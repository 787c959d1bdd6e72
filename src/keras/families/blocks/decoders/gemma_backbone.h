// The common part of the backbones of Gemma 1 to 4, and of their configs in transformers.
#pragma once

#include <cmath>

#include "families/blocks/config_map.h"
#include "model/backbones/text.h"

namespace attn::keras {

class GemmaFamilyBackbone : public TextBackbone {
 public:
  GemmaFamilyBackbone() { dropout = 0; }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_key_value_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                     num_query_heads.value, num_key_value_heads.value));
    if (is_embedding_model && (!pooling_intermediate_dim || !embedding_dim))
      config["is_embedding_model"].fail("expected false without pooling_intermediate_dim and embedding_dim");
  }
  /// Reads or writes the sizes of the text model, which follow the sizes of its inputs.
  void size_fields(Fields& f) {
    f.required("num_layers", num_layers);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
  }
  /// Reads or writes the fields of the blocks of Gemma 1 and 2, which PaliGemma has too.
  void block_fields(Fields& f) {
    f("query_head_dim_normalize", query_head_dim_normalize);
    f("use_post_ffw_norm", use_post_ffw_norm);
    f("use_post_attention_norm", use_post_attention_norm);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("sliding_window_size", sliding_window_size);
    f("use_sliding_window_attention", use_sliding_window_attention);
  }
  /// Reads or writes the soft caps and the window, as Gemma 3 and 4 order them.
  void limit_fields(Fields& f) {
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
  }
  /// Reads or writes the fields of a model that embeds texts, which Gemma 3 and later have.
  void pooling_fields(Fields& f) {
    f("is_embedding_model", is_embedding_model);
    f("pooling_intermediate_dim", pooling_intermediate_dim);
    f("embedding_dim", embedding_dim);
  }

  /// Assembles the whole model. `further(i)` gives additional arguments of block i.
  void assemble_with(std::string_view block_class, std::string_view norm_class,
                     const std::function<Json(std::int64_t)>& further) {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef x = scaled(call(make_embedding(), {token_ids}));
    const TensorRef through =
        through_blocks(x, block_class, "decoder_block", with_shared(further), {{"padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = ended(final_norm(norm_class, through), padding_mask);
  }

  /// Adds the token embedding.
  Layer& make_embedding() {
    Json initializer = Initializer("variance_scaling").json;
    initializer["config"].update({{"scale", 1.0}, {"mode", "fan_in"}, {"distribution", "untruncated_normal"}});
    return token_embedding({{"embeddings_initializer", initializer}, {"logit_soft_cap", number(final_logit_soft_cap)}});
  }
  /// Multiplies the rows of the embedding by √D.
  TensorRef scaled(const TensorRef& rows) {
    return operation("Multiply", Json::object(), {rows, std::sqrt(static_cast<double>(hidden_dim.value))});
  }
  TensorRef final_norm(std::string_view norm_class, const TensorRef& x) {
    return call(norm_class, "final_normalization", {{"epsilon", layer_norm_epsilon.value}}, {x});
  }
  /// Returns the arguments of the blocks, with those that `further` gives. The model's ε is not passed to blocks, which
  /// use their default.
  std::function<Json(std::int64_t)> with_shared(const std::function<Json(std::int64_t)>& further) {
    return [this, further](std::int64_t i) {
      Json out = {{"intermediate_dim", intermediate_dim.value},
                  {"hidden_dim", hidden_dim.value},
                  {"num_query_heads", num_query_heads.value},
                  {"head_dim", head_dim.value},
                  {"num_key_value_heads", num_key_value_heads.value},
                  {"query_head_dim_normalize", query_head_dim_normalize},
                  {"use_post_ffw_norm", use_post_ffw_norm},
                  {"use_post_attention_norm", use_post_attention_norm},
                  {"logit_soft_cap", number(attention_logit_soft_cap)},
                  {"sliding_window_size", sliding_window_size.value},
                  {"dropout", dropout.value}};
      out.update(further(i));
      return out;
    };
  }

  /// Assembles what follows the last norm.
  virtual Arg ended(const TensorRef& sequence, const TensorRef& /*padding_mask*/) { return sequence; }

  /// A model that embeds texts, such as EmbeddingGemma, pools the positions and projects the mean twice.
  Arg pooled(std::string_view pooling_class, const TensorRef& sequence, const TensorRef& padding_mask) {
    if (!is_embedding_model) return sequence;
    const auto projected = [&](const char* called, std::int64_t units, const TensorRef& x) {
      return call("Dense", called, {{"units", units}, {"use_bias", false}}, {x});
    };
    TensorRef x = call(pooling_class, "mean_pooling", Json::object(), {sequence}, {{"padding_mask", padding_mask}});
    x = projected("pooling_dense_1", *pooling_intermediate_dim, x);
    x = projected("embedding_projection", *embedding_dim, x);
    x = call("UnitNormalization", "unit_normalization", {{"axis", -1}}, {x});
    return ArgDict{{"sequence_output", sequence}, {"pooled_output", x}};
  }

  static Json number(const std::optional<Number>& value) { return value ? Json(value->value) : Json(); }

  Positive num_query_heads, num_key_value_heads, head_dim, sliding_window_size = 4096;
  bool query_head_dim_normalize = true, use_post_ffw_norm = false, use_post_attention_norm = false,
       use_sliding_window_attention = false, is_embedding_model = false;
  std::optional<Positive> pooling_intermediate_dim, embedding_dim;
  std::optional<Number> attention_logit_soft_cap, final_logit_soft_cap;
  Number layer_norm_epsilon{1e-6};
};

/// Converts query_pre_attn_scalar, by whose square root the queries are divided. KerasHub always divides by √head_dim,
/// so other values are rejected.
inline void query_scale(ConfigMap& map) {
  if (!map.reading()) return map.put("query_pre_attn_scalar", map.of_keras("head_dim"));
  const auto scalar = map.find("query_pre_attn_scalar");
  if (scalar && scalar->number() != static_cast<double>(map.integer("head_dim", 256)))
    map.refuse(*scalar, "queries divided by another root than that of head_dim");
}

}  // namespace attn::keras
