// Phi-3 (keras_hub/src/models/phi3).
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "classes/decoding.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/grouped_backbone.h"
#include "families/blocks/rms_norm.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::phi3 {
namespace {

using graph::ValueId;

/// In Phi-3, frequencies are divided pairwise by a list of factors, one for short sequences and another for long ones
/// ("su").
class Phi3Family final : public AttentionFamily {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) const override;
  [[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x) const override;
  [[nodiscard]] std::string_view prefix() const override { return ""; }

  Positive max_sequence_length = 4096, pretraining_sequence_length = 4096;
  Number rope_max_wavelength = 10000;
  std::optional<std::string> rope_scaling_type;  ///< "su", or empty
  std::optional<std::vector<Number>> rope_scaling_short_factor, rope_scaling_long_factor;

 private:
  [[nodiscard]] Rotary rotary(Dim size, bool is_long) const;
};

void Phi3Family::fields(Fields& f) {
  f("max_sequence_length", max_sequence_length);
  f("pretraining_sequence_length", pretraining_sequence_length);
  f("rope_max_wavelength", rope_max_wavelength);
  f("rope_scaling_type", rope_scaling_type);
  f("rope_scaling_short_factor", rope_scaling_short_factor);
  f("rope_scaling_long_factor", rope_scaling_long_factor);
}

void Phi3Family::check(const Ref& config) const {
  if (!(rope_max_wavelength > 0.0)) config["rope_max_wavelength"].fail("expected a number > 0");
  if (!rope_scaling_type) return;
  if (*rope_scaling_type != "su") config["rope_scaling_type"].fail("expected null or 'su'");
  if (pretraining_sequence_length < 2) config["pretraining_sequence_length"].fail("expected an integer > 1");
  for (const auto& [key, factors] : {std::pair{"rope_scaling_short_factor", &rope_scaling_short_factor},
                                     std::pair{"rope_scaling_long_factor", &rope_scaling_long_factor}}) {
    if (!*factors) config[key].fail("expected a list of numbers, which the scaling 'su' needs");
    for (const Number& factor : **factors)
      if (!(factor > 0.0)) config[key].fail("expected numbers > 0");
  }
}

/// Cosines and sines are multiplied by √(1 + ln(max/pretraining)/ln(pretraining)) (phi3_rotary_embedding.py).
Rotary Phi3Family::rotary(Dim size, bool is_long) const {
  Rotary out{inverse_frequencies(rope_max_wavelength, size)};
  if (!rope_scaling_type) return out;
  const std::vector<Number>& factors = is_long ? *rope_scaling_long_factor : *rope_scaling_short_factor;
  if (factors.size() != out.frequencies.size())
    throw bad_input("got {} {} factors for the {} pairs of features of a head", factors.size(),
                    is_long ? "long" : "short", out.frequencies.size());
  for (std::size_t i = 0; i < factors.size(); ++i) out.frequencies[i] /= static_cast<float>(factors[i]);
  const double times =
      static_cast<double>(max_sequence_length.value) / static_cast<double>(pretraining_sequence_length.value);
  if (times > 1.0)
    out.factor = std::sqrt(1.0 + std::log(times) / std::log(static_cast<double>(pretraining_sequence_length.value)));
  return out;
}

/// Uses the long factors if a sequence is longer than in pretraining. With a KV cache, the capacity of the cache
/// decides, so that cached keys match later tokens. KerasHub instead uses the position of each single new token,
/// regardless of how earlier tokens were rotated.
ValueId Phi3Family::turned(Call& call, ValueId x) const {
  graph::Builder& b = call.builder();
  const Shape shape = b.shape(x);
  const Decoding* decoding = call.lowering().decoding;
  const Dim length = decoding == nullptr ? shape[1] : decoding->capacity;
  const bool by_position = call.lowering().keras_hub_step;
  if (!rope_scaling_type || !by_position)
    return keras::turned(call, x, rotary(shape.back(), length > pretraining_sequence_length));
  const Expression position(b, decoding->position);
  const Expression is_long = position.number(static_cast<double>(pretraining_sequence_length.value)) < position + 1.0;
  return where(is_long, {b, keras::turned(call, x, rotary(shape.back(), true))},
               {b, keras::turned(call, x, rotary(shape.back(), false))});
}

/// A decoder block of Phi-3: the attention norm comes first, and attribute names have no underscores.
class Phi3Decoder final : public GatedBlock {
 public:
  Phi3Decoder()
      : GatedBlock(std::make_unique<Phi3Family>(),
                   {.attention_class = "Phi3Attention",
                    .norm_class = "Phi3LayerNorm",
                    .attention = {"attention", "attention"},
                    .attention_norm = {"pre_attention_layernorm", "pre_attention_layernorm"},
                    .feed_forward_norm = {"post_attention_layernorm", "post_attention_layernorm"},
                    .prefix = ""}) {}
  [[nodiscard]] bool supports_masking() const override { return false; }

 private:
  void further_fields(Fields& f) override { f("hidden_dim", hidden_dim); }
  void make_parts(std::int64_t width) override {
    make_attention_norm();
    make_attention();
    make_feed_forward_norm();
    make_feed_forward(width);
  }

  std::optional<Positive> hidden_dim;  // always the width of the input
};

class Phi3Backbone : public GroupedBackbone {
 public:
  Phi3Backbone() { dropout = Number(0.0); }
  void fields(Fields& f) override {
    sizes(f);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    family_.fields(f);
  }

 protected:
  void assemble() override {
    assemble_with(family_, false, "Phi3Decoder", "Phi3LayerNorm", {{"hidden_dim", hidden_dim.value}});
  }

 private:
  Phi3Family family_;
};

/// Converts the factors for each pair of features, which are selected by the sequence length ("su", now "longrope").
void long_rope(ConfigMap& map) {
  if (!map.reading()) {
    if (map.of_keras("rope_scaling_type").is_null()) return;
    return map.put(kRopeScaling, {{"type", "longrope"},
                                  {"rope_type", "longrope"},
                                  {"short_factor", map.of_keras("rope_scaling_short_factor")},
                                  {"long_factor", map.of_keras("rope_scaling_long_factor")}});
  }
  const auto scaling = rope_scaling(map);
  if (!scaling) return;
  const std::string type = rope_type(*scaling);
  if (type != "su" && type != "longrope") map.unsupported(*scaling, "positions scaled by '" + type + "'");
  map.put("rope_scaling_type", "su", kRopeScaling);
  map.put("rope_scaling_short_factor", (*scaling)["short_factor"].json(), kRopeScaling);
  map.put("rope_scaling_long_factor", (*scaling)["long_factor"].json(), kRopeScaling);
}

void sizes(ConfigMap& map) {
  decoder_sizes(map);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-5);
  map.same("max_sequence_length", "max_position_embeddings", 4096);
  map.same("pretraining_sequence_length", "original_max_position_embeddings", 4096);
  rope_theta(map, "rope_max_wavelength", 10000.0);
  long_rope(map);
  map.fixed("sliding_window", {Json()});
  if (!map.reading()) map.put("pad_token_id", Json());  // transformers' default exceeds a small vocabulary
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {false});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "Phi3Attention",
              .make = make_grouped_attention<Phi3Family>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.phi3.phi3_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "Phi3Decoder",
              .make = make_layer<Phi3Decoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.phi3.phi3_decoder",
              .role = Role::transformer},
    rms_norm_record("Phi3LayerNorm", "keras_hub.src.models.phi3.phi3_layernorm"),
};

constexpr std::array kModels = {
    model_record<Phi3Backbone>("Phi3Backbone", "keras_hub.src.models.phi3.phi3_backbone"),
    model_record<CausalLM, DecodeFault::short_factors>("Phi3CausalLM", "keras_hub.src.models.phi3.phi3_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"phi3", "Phi3", "Phi3", sizes, false},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// The array of query, key and value is one; so is that of gate and up.
constexpr std::array<NameRow, 12> kNames{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"token_embedding/reverse_embeddings", "lm_head.weight", kLinear, true},
    {"transformer_layer_{}/attention/query/kernel", "layers.{}.self_attn.qkv_proj.weight", kLinear},
    {"transformer_layer_{}/attention/key/kernel", "layers.{}.self_attn.qkv_proj.weight", kLinear},
    {"transformer_layer_{}/attention/value/kernel", "layers.{}.self_attn.qkv_proj.weight", kLinear},
    {"transformer_layer_{}/attention/attention_output/kernel", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"transformer_layer_{}/pre_attention_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/feedforward_gate_dense/kernel", "layers.{}.mlp.gate_up_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "layers.{}.mlp.gate_up_proj.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"Phi3Backbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "Phi3Tokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kStartToken,
               .end = kTextToken,
               .transformers_class = "LlamaTokenizer",
               .transformers_file = "tokenizer.model"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "phi3", .keras_class = "Phi3Tokenizer", .is_converted = false},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "phi3",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::phi3
