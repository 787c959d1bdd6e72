// Qwen 3.5 without its vision encoder (keras_hub/src/models/qwen3_5): most blocks have the linear attention of Gated
// DeltaNet (Yang et al., arxiv.org/abs/2412.06464), and some have grouped attention.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families/blocks/grouped_backbone.h"
#include "families/blocks/qwen3_5_layers.h"
#include "families/blocks/qwen_attention.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/task.h"

namespace attn::keras::qwen3_5 {
namespace {

using graph::ValueId;

constexpr std::string_view kLayersModule = "keras_hub.src.models.qwen3_5.qwen3_5_layers";
constexpr std::string_view kLinear = "linear_attention", kFull = "full_attention";

/// The fields of the blocks that the backbone has too.
class Qwen3_5Family final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f("partial_rotary_factor", partial_rotary_factor);
    LinearRotaryFamily::fields(f);
    f("sliding_window_size", sliding_window_size);
    linear.fields(f);
    f("mrope_section", mrope_section);
  }
  void check(const Ref& config) const override {
    LinearRotaryFamily::check(config);
    linear.check(config);
    check_qwen3_5_rotary(config, head_dim, partial_rotary_factor);
  }

  Positive head_dim;
  Number partial_rotary_factor = 0.25;
  std::optional<Positive> sliding_window_size;
  Qwen3_5LinearFields linear;
  Opaque mrope_section;
};

class Qwen3_5TransformerDecoder final : public DecoderBlock {
 public:
  void fields(Fields& f) override {
    f.required("layer_type", layer_type);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    family_.fields(f);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("dropout", dropout);
  }
  void check(const Ref& config) override {
    family_.check(config);
    if (layer_type != kLinear && layer_type != kFull)
      config["layer_type"].fail(fmt::format("expected '{}' or '{}'", kFull, kLinear));
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden = width(call);
    if (layer_type == kLinear) {
      Json arguments = arguments_of(family_.linear);
      arguments["hidden_size"] = hidden;
      arguments["layer_norm_epsilon"] = layer_norm_epsilon.value;
      arguments["kernel_initializer"] = kernel_initializer.json;
      mixer_ = &make("Qwen3_5GatedDeltaNet", "linear_attn", "_linear_attn", std::move(arguments));
    } else {
      mixer_ = &make(
          "Qwen3_5Attention", "self_attention", "_self_attention_layer",
          {{"num_query_heads", num_query_heads.value},
           {"num_key_value_heads", num_key_value_heads.value},
           {"head_dim", family_.head_dim.value},
           {"partial_rotary_factor", family_.partial_rotary_factor.value},
           {"rope_max_wavelength", family_.rope_max_wavelength.value},
           {"rope_scaling_factor", family_.rope_scaling_factor.value},
           {"kernel_initializer", kernel_initializer.json},
           {"dropout", dropout.value},
           {"layer_norm_epsilon", layer_norm_epsilon.value},
           {"sliding_window_size", family_.sliding_window_size ? Json(family_.sliding_window_size->value) : Json()}});
    }
    const auto norm = [&](const char* called, const char* attribute) {
      return &make("Qwen3_5LayerNorm", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
    };
    const auto dense = [&](const std::string& called, std::int64_t units) {
      return &make("Dense", called, "_" + called,
                   {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
    };
    mixer_norm_ = norm("input_layernorm", "_input_layernorm");
    dropped_ = &make("Dropout", "self_attention_dropout", "_self_attention_dropout", {{"rate", dropout.value}});
    gate_dense_ = dense("feedforward_gate_dense", intermediate_dim);
    intermediate_dense_ = dense("feedforward_intermediate_dense", intermediate_dim);
    output_dense_ = dense("feedforward_output_dense", hidden);
    feed_forward_norm_ = norm("post_attention_layernorm", "_post_attention_layernorm");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    ArgDict how = attending(call, in);
    if (layer_type == kLinear) {
      how.clear();
      if (const TensorPtr mask = call.optional_tensor("decoder_padding_mask")) how.emplace_back("attention_mask", mask);
    }
    const TensorPtr mixed = apply(call, *mixer_, {apply(call, *mixer_norm_, {in})}, how);
    const TensorPtr x = sum(call, apply(call, *dropped_, {mixed}), in);
    const TensorPtr normal = apply(call, *feed_forward_norm_, {x});
    const ValueId gate = activated(call, activation, apply(call, *gate_dense_, {normal}));
    const ValueId up = apply(call, *intermediate_dense_, {normal})->id;
    const ValueId product = call.builder().binary(graph::BinaryFn::multiply, up, gate);
    return sum(call, apply(call, *output_dense_, {Call::result(product)}), x);
  }

 private:
  std::string layer_type;
  Positive intermediate_dim, num_query_heads, num_key_value_heads;
  Qwen3_5Family family_;
  Activation activation = *Activation::named("silu");
  Number layer_norm_epsilon{1e-6}, dropout{0.0};
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* mixer_ = nullptr;
  Layer* mixer_norm_ = nullptr;
  Layer* dropped_ = nullptr;
  Layer* gate_dense_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
  Layer* feed_forward_norm_ = nullptr;
};

class Qwen3_5Backbone final : public GroupedBackbone {
 public:
  Qwen3_5Backbone() { family_.sliding_window_size = Positive(32768); }
  void fields(Fields& f) override {
    sizes(f);
    f.required("head_dim", family_.head_dim);
    f.required("intermediate_dim", intermediate_dim);
    layer_types(f);
    f("partial_rotary_factor", family_.partial_rotary_factor);
    f("rope_max_wavelength", family_.rope_max_wavelength);
    f("rope_scaling_factor", family_.rope_scaling_factor);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("tie_word_embeddings", tie_word_embeddings);
    f("sliding_window_size", family_.sliding_window_size);
    family_.linear.fields(f);
    f("mrope_section", family_.mrope_section);
    f("vision_encoder", vision_encoder_);
  }

 protected:
  void check_fields(const Ref& config) override {
    GroupedBackbone::check_fields(config);
    family_.check(config);
    if (!vision_encoder_.json.is_null())
      config["vision_encoder"].fail("Qwen 3.5 with images is not supported, only its text model with null here");
    if (std::ssize(layer_types_) != num_layers)
      config["layer_types"].fail(fmt::format("{} types for {} layers", layer_types_.size(), num_layers.value));
  }
  void assemble() override {
    assemble_blocks(family_, tie_word_embeddings, "Qwen3_5TransformerDecoder", "Qwen3_5LayerNorm", [&](std::int64_t i) {
      return Json{{"layer_type", layer_types_[static_cast<std::size_t>(i)]}};
    });
  }

 private:
  /// Without types, every fourth layer has full attention.
  void layer_types(Fields& f) {
    const bool is_given = !f.reading() || [&] {
      const auto given = f.config().find("layer_types");
      return given && !given->json().is_null();
    }();
    if (is_given) return f("layer_types", layer_types_);
    (void)f.take("layer_types");
    for (std::int64_t i = 1; i <= std::min<std::int64_t>(num_layers, kMaxBlocks); ++i)
      layer_types_.emplace_back(i % 4 == 0 ? kFull : kLinear);
  }

  Qwen3_5Family family_;
  std::vector<std::string> layer_types_;
  bool tie_word_embeddings = false;
  Opaque vision_encoder_;
};

/// Texts are generated by whole sequences: a linear attention has no keys and values to cache.
class Qwen3_5CausalLM final : public Task {
 protected:
  [[nodiscard]] std::string_view kind() const override { return "CausalLM"; }
  void assemble() override { output_struct = reverse_embedding(backbone_result()); }
};

constexpr std::array kLayers = {
    ClassInfo{.name = "Qwen3_5LayerNorm",
              .make = make_qwen3_5_norm,
              .since = kAnyKeras,
              .module = kLayersModule,
              .role = Role::normalization,
              .symbols = "scale: d_model"},
    rms_norm_record<Qwen3LayerNorm>("Qwen3_5RMSNormGated", kLayersModule),
    ClassInfo{.name = "Qwen3_5Attention",
              .make = make_qwen3_5_attention,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_5.qwen3_5_attention",
              .role = Role::attention,
              .symbols = "query/kernel: d_model h -; query_norm/scale: d_head; key/kernel: d_model g d_head;"
                         " key_norm/scale: d_head; value/kernel: d_model g d_head;"
                         " attention_output/kernel: h d_head d_model"},
    ClassInfo{.name = "Qwen3_5GatedDeltaNet",
              .make = make_qwen3_5_delta_net,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_5.qwen3_5_gated_delta_net",
              .role = Role::kernel,
              .symbols = "conv1d_kernel: - -; dt_bias: -; A_log: -"},
    ClassInfo{.name = "Qwen3_5TransformerDecoder",
              .make = make_layer<Qwen3_5TransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3_5.qwen3_5_decoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<Qwen3_5Backbone>("Qwen3_5Backbone", "keras_hub.src.models.qwen3_5.qwen3_5_backbone"),
    model_record<Qwen3_5CausalLM>("Qwen3_5CausalLM", "keras_hub.src.models.qwen3_5.qwen3_5_causal_lm"),
};

using tokenizers::KerasClass;
constexpr std::array<std::string_view, 1> kMore = {"<|im_start|>"};
constexpr std::array<std::string_view, 4> kVision = {"<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
                                                     "<|video_pad|>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "Qwen3_5Tokenizer",
               .kind = tokenizers::TokenizerKind::byte_pairs,
               .end = "<|im_end|>",
               .pad = kTextToken,
               .more = kMore,
               .words = tokenizers::kQwenWords,
               .nfc = true,
               .vision = kVision},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "qwen3_5", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::qwen3_5
