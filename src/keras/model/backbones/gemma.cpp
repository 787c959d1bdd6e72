// Backbones of Gemma 1, 2 and 3.
#include <array>
#include <cmath>

#include "model/backbones/text.h"

namespace attn::keras {
namespace {

/// The common part of all generations.
class GemmaFamilyBackbone : public TextBackbone {
 public:
  GemmaFamilyBackbone() { dropout = 0; }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_key_value_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                     num_query_heads.value, num_key_value_heads.value));
  }

  /// Assembles the whole model. `further(i)` are additional arguments of block i.
  void assemble_with(std::string_view block_class, std::string_view norm_class,
                     const std::function<Json(std::int64_t)>& further) {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    Json initializer = Initializer("variance_scaling").json;
    initializer["config"].update({{"scale", 1.0}, {"mode", "fan_in"}, {"distribution", "untruncated_normal"}});
    const TensorRef rows = call(
        token_embedding({{"embeddings_initializer", initializer}, {"logit_soft_cap", number(final_logit_soft_cap)}}),
        {token_ids});
    const Arg root = std::sqrt(static_cast<double>(hidden_dim.value));
    const TensorRef x = operation("Multiply", Json::object(), {rows, root});
    const Json shared = {{"intermediate_dim", intermediate_dim.value},
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
    // ε is not passed to blocks, which use their default.
    const auto block = [&](std::int64_t i) {
      Json out = shared;
      out.update(further(i));
      return out;
    };
    const TensorRef through = through_blocks(x, block_class, "decoder_block", block, {{"padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = call(norm_class, "final_normalization", {{"epsilon", layer_norm_epsilon.value}}, {through});
  }

  static Json number(const std::optional<Number>& value) { return value ? Json(value->value) : Json(); }

  Positive num_query_heads, num_key_value_heads, head_dim, sliding_window_size = 4096;
  bool query_head_dim_normalize = true, use_post_ffw_norm = false, use_post_attention_norm = false,
       use_sliding_window_attention = false;
  std::optional<Number> attention_logit_soft_cap, final_logit_soft_cap;
  Number layer_norm_epsilon{1e-6};
};

/// Gemma 1; and Gemma 2 with norms after sublayers, soft caps, and a window in every other block.
class GemmaBackbone : public GemmaFamilyBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("query_head_dim_normalize", query_head_dim_normalize);
    f("use_post_ffw_norm", use_post_ffw_norm);
    f("use_post_attention_norm", use_post_attention_norm);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("sliding_window_size", sliding_window_size);
    f("use_sliding_window_attention", use_sliding_window_attention);
  }

 protected:
  void assemble() override {
    assemble_with("GemmaDecoderBlock", "GemmaRMSNormalization", [&](std::int64_t i) -> Json {
      return {{"use_sliding_window_attention", use_sliding_window_attention && i % 2 == 0}};
    });
  }
};

/// Text only: five blocks with a window, then one without, which has longer wavelengths.
class Gemma3Backbone : public GemmaFamilyBackbone {
 public:
  Gemma3Backbone() { sliding_window_size = 1024; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("image_size", image_size);
    f.required("num_layers", num_layers);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
    f("query_head_dim_normalize", query_head_dim_normalize);
    f("use_query_key_norm", use_query_key_norm);
    f("use_post_ffw_norm", use_post_ffw_norm);
    f("use_post_attention_norm", use_post_attention_norm);
    f("attention_logit_soft_cap", attention_logit_soft_cap);
    f("final_logit_soft_cap", final_logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("local_rope_scaling_factor", local_rope_scaling_factor);
    f("global_rope_scaling_factor", global_rope_scaling_factor);
    f("vision_encoder", vision_encoder);
    f("use_bidirectional_attention", use_bidirectional_attention);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("is_embedding_model", is_embedding_model);
    f("pooling_intermediate_dim", pooling_intermediate_dim);
    f("embedding_dim", embedding_dim);
  }

 protected:
  void check_fields(const Ref& config) override {
    GemmaFamilyBackbone::check_fields(config);
    if (!vision_encoder.json.is_null())
      config["vision_encoder"].fail("expected null: attn runs Gemma 3 of text, and reads no images");
    for (const auto& [key, value] : {std::pair{"use_bidirectional_attention", use_bidirectional_attention},
                                     {"is_embedding_model", is_embedding_model}})
      if (value) config[key].fail("expected false: attn runs Gemma 3 as it generates text");
  }
  void assemble() override {
    assemble_with("Gemma3DecoderBlock", "Gemma3RMSNormalization", [&](std::int64_t i) -> Json {
      const bool local = use_sliding_window_attention && i % 6 < 5;
      return {{"use_query_key_norm", use_query_key_norm},
              {"gate_dim_reduction", 1},
              {"use_sliding_window_attention", local},
              {"rope_wavelength", local ? 10'000.0 : 1'000'000.0},
              {"rope_scaling_factor", local ? local_rope_scaling_factor.value : global_rope_scaling_factor.value}};
    });
  }

 private:
  std::optional<Positive> image_size, pooling_intermediate_dim, embedding_dim;
  bool use_query_key_norm = true, use_bidirectional_attention = false, is_embedding_model = false;
  Number local_rope_scaling_factor{1.0}, global_rope_scaling_factor{1.0};
  Opaque vision_encoder;
};

constexpr std::array kGemmaBackbones = {
    backbone_record<GemmaBackbone>("GemmaBackbone", "keras_hub.src.models.gemma.gemma_backbone"),
    backbone_record<Gemma3Backbone>("Gemma3Backbone", "keras_hub.src.models.gemma3.gemma3_backbone"),
};

}  // namespace

Family gemma_backbones() { return kGemmaBackbones; }

}  // namespace attn::keras
