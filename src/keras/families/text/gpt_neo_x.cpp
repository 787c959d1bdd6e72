// GPT-NeoX (keras_hub/src/models/gpt_neo_x).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "classes/composite.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/rotary.h"
#include "config/bounds.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_block.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::gpt_neo_x {
namespace {

using graph::ValueId;

/// One projection computes query, key and value of each head. The first part of the features of a head has rotary
/// positions.
class GPTNeoXAttention final : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f("dropout", dropout);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("rotary_percentage", rotary_percentage);
    f("rotary_max_wavelength", rotary_max_wavelength);
    f("max_sequence_length", max_sequence_length);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (!(rotary_max_wavelength > 0.0)) config["rotary_max_wavelength"].fail("expected a number > 0");
    if (hidden_dim % num_heads != 0)
      config["num_heads"].fail(
          fmt::format("{} features cannot be divided among {} heads", hidden_dim.value, num_heads.value));
    if (rotary_percentage < 0.0 || rotary_percentage > 1.0 || turning() % 2 != 0)
      config["rotary_percentage"].fail(
          fmt::format("expected an even number of rotary features out of the {} of a head, got {}", size(), turning()));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 6> kNames = {
        "hidden_states", "attention_mask", "cache", "cache_update_index", "training", "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, size()}; }

  void build(Weights& w, Call& call) override {
    const Dim width = call.shape("hidden_states").back();
    packed_ = declare(w, "query_key_value", "_qkv_dense", {width}, {num_heads, 3 * size()}, true);
    output_ = declare(w, "attention_output", "_output_dense", {width}, {hidden_dim}, true);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("hidden_states")->id;
    const ValueId packed = project(call, x, packed_);  // (B,T,N,3·H)
    const ValueId query = turned_in_part(call, features(b, packed, 0, size()), true);
    const ValueId key = turned_in_part(call, features(b, packed, size(), 2 * size()), false);
    const ValueId value = features(b, packed, 2 * size(), 3 * size());
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size()));
    how.path = softmax_path(call);
    how.causal = call.flag("use_causal_mask");
    how.masks = masks(call, std::nullopt);
    how.scores = call.lowering().want_scores;
    const Attended attended = keras::attend(call, query, key, value, how);
    const Shape in = b.shape(x);
    const ValueId joined = b.reshape(attended.context, {in[0], in[1], hidden_dim});
    return results(call, project(call, joined, output_), {attended, {}}, std::nullopt);
  }

 private:
  [[nodiscard]] Dim size() const { return hidden_dim / num_heads; }
  [[nodiscard]] Dim turning() const { return scaled_size(size(), rotary_percentage); }

  static ValueId features(graph::Builder& b, ValueId x, Dim from, Dim to) {
    graph::Slice some;
    some.ranges = {{}, {}, {}, {from, to, 1}};
    return b.apply(some, {x});
  }

  /// In a step of one token, KerasHub uses position 0 for the query, so the query is not rotated.
  [[nodiscard]] ValueId turned_in_part(Call& call, ValueId x, bool is_query) const {
    if (turning() == 0 || (is_query && call.lowering().keras_hub_step)) return x;
    graph::Builder& b = call.builder();
    const Rotary rotary{inverse_frequencies(rotary_max_wavelength, turning())};
    const ValueId first = turned(call, features(b, x, 0, turning()), rotary);
    if (turning() == size()) return first;
    return b.apply(graph::Concat{3}, {first, features(b, x, turning(), size())});
  }

  Positive num_heads, hidden_dim, max_sequence_length = 512;
  Number rotary_percentage = 0.25, rotary_max_wavelength = 10000;
  Projection packed_;
};

/// Attention and feed-forward network have the same input, and both of their results are added to that input.
class GPTNeoXDecoder final : public PlainBlock {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("dropout", dropout);
    f("rotary_percentage", rotary_percentage);
    f("rotary_max_wavelength", rotary_max_wavelength);
    f("max_sequence_length", max_sequence_length);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("decoder_sequence_shape", decoder_sequence_shape);
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call);
    if (!decoder_sequence_shape) decoder_sequence_shape = call.shape("decoder_sequence");
    attention_ = &make("GPTNeoXAttention", "self_attention", "_self_attention_layer",
                       {{"num_heads", num_heads.value},
                        {"hidden_dim", hidden_dim},
                        {"dropout", dropout.value},
                        {"rotary_percentage", rotary_percentage.value},
                        {"rotary_max_wavelength", rotary_max_wavelength.value},
                        {"max_sequence_length", max_sequence_length.value},
                        {"kernel_initializer", kernel_initializer.json},
                        {"bias_initializer", bias_initializer.json}});
    attention_norm_ = &make_norm("self_attention_layer_norm", "_self_attention_layer_norm");
    intermediate_dense_ = &make_dense("feedforward_intermediate_dense", "_feedforward_intermediate_dense",
                                      intermediate_dim, activation.json);
    output_dense_ = &make_dense("feedforward_output_dense", "_feedforward_output_dense", hidden_dim, "linear");
    feed_forward_norm_ = &make_norm("feedforward_layer_norm", "_feedforward_layer_norm");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    const ArgDict how = attending(call, in);
    const TensorPtr attended = apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how);
    const TensorPtr fed =
        apply(call, *output_dense_, {apply(call, *intermediate_dense_, {apply(call, *feed_forward_norm_, {in})})});
    return sum(call, sum(call, fed, attended), in);
  }

 private:
  Positive num_heads, max_sequence_length = 512;
  Number dropout, rotary_percentage = 0.25, rotary_max_wavelength = 10000;
  Activation activation = *Activation::named("relu");
  std::optional<Shape> decoder_sequence_shape;
};

class GPTNeoXBackbone : public HeadedBackbone {
 public:
  GPTNeoXBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("rotary_percentage", rotary_percentage);
    f("rotary_max_wavelength", rotary_max_wavelength);
    f("max_sequence_length", max_sequence_length);
    f("layer_norm_epsilon", layer_norm_epsilon);
    // KerasHub has neither key: its activation is tanh-approximated gelu, and its head the token embedding.
    if (f.reading() || activation) f("activation", activation);
    if (f.reading() || !tie_word_embeddings) f("tie_word_embeddings", tie_word_embeddings);
  }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    Json arguments = {{"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}};
    if (!tie_word_embeddings) arguments["tie_weights"] = false;
    const TensorRef rows = call(token_embedding(std::move(arguments)), {token_ids});
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"max_sequence_length", max_sequence_length.value},
                        {"rotary_percentage", rotary_percentage.value},
                        {"rotary_max_wavelength", rotary_max_wavelength.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value},
                        {"activation", activation ? activation->json : gelu_approximate()},
                        {"kernel_initializer", normal_initializer("RandomNormal", 0.02)}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(embeddings_dropout(rows), "GPTNeoXDecoder", "transformer_layer",
                                              [&](auto) { return block; }, {{"decoder_padding_mask", padding_mask}}),
                               layer_norm_epsilon);
  }

 private:
  Number rotary_percentage = 0.25, rotary_max_wavelength = 10000, layer_norm_epsilon = 1e-5;
  std::optional<Activation> activation;
  bool tie_word_embeddings = true;
};

/// Converts the fraction of features with rotary positions, and their wavelength.
void turning_features(ConfigMap& map) {
  constexpr const char *kShare = "rotary_percentage", *kWavelength = "rotary_max_wavelength";
  if (!map.reading()) {
    map.put("rotary_pct", map.of_keras(kShare));
    return map.put("rotary_emb_base", map.of_keras(kWavelength));
  }
  const auto put = [&](const char* keras, const char* now, const char* then, double fallback) {
    std::optional<Ref> found = map.find(then);
    if (const auto parameters = rope_parameters(map))
      if (const auto inside = parameters->find(now); inside && !inside->is_null()) found = inside;
    map.put(keras, found ? found->json() : Json(fallback), found ? std::string_view(found->pointer()).substr(1) : "");
  };
  put(kShare, "partial_rotary_factor", "rotary_pct", 0.25);
  put(kWavelength, "rope_theta", "rotary_emb_base", 10000.0);
  if (const auto scaling = rope_scaling(map)) map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
}

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("dropout", "hidden_dropout", 0.0);
  turning_features(map);
  map.same("max_sequence_length", "max_position_embeddings", 2048);
  map.same("layer_norm_epsilon", "layer_norm_eps", 1e-5);
  activation_beside_tanh_gelu(map);
  // KerasHub's head is always the token embedding, and its class has no such key. A config contains the key only if its
  // value is false.
  map.same("tie_word_embeddings", "tie_word_embeddings", !map.reading());
  map.fixed("use_parallel_residual", {true});
  map.fixed("attention_bias", {true});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "GPTNeoXAttention",
              .make = make_layer<GPTNeoXAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gpt_neo_x.gpt_neo_x_attention",
              .role = Role::attention,
              .symbols = "query_key_value/kernel: d_model h -; query_key_value/bias: h -;"
                         " attention_output/kernel: d_model d_model; attention_output/bias: d_model"},
    ClassInfo{.name = "GPTNeoXDecoder",
              .make = make_layer<GPTNeoXDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gpt_neo_x.gpt_neo_x_decoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<GPTNeoXBackbone>("GPTNeoXBackbone", "keras_hub.src.models.gpt_neo_x.gpt_neo_x_backbone"),
    model_record<CausalLM, DecodeFault::query_at_zero>("GPTNeoXCausalLM",
                                                       "keras_hub.src.models.gpt_neo_x.gpt_neo_x_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"gpt_neox", "GPTNeoX", "GPTNeoX", sizes, false},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// KerasHub also has one array for query, key and value of a head.
constexpr std::array<NameRow, 16> kNames{{
    {"token_embedding/embeddings", "embed_in.weight", kSame},
    {"token_embedding/reverse_embeddings", "embed_out.weight", kLinear, true},
    {"transformer_layer_{}/self_attention/query_key_value/kernel", "layers.{}.attention.query_key_value.weight",
     kLinear},
    {"transformer_layer_{}/self_attention/query_key_value/bias", "layers.{}.attention.query_key_value.bias", kVector},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "layers.{}.attention.dense.weight", kLinear},
    {"transformer_layer_{}/self_attention/attention_output/bias", "layers.{}.attention.dense.bias", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "layers.{}.input_layernorm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "layers.{}.mlp.dense_h_to_4h.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "layers.{}.mlp.dense_h_to_4h.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "layers.{}.mlp.dense_4h_to_h.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "layers.{}.mlp.dense_4h_to_h.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "layers.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "layers.{}.post_attention_layernorm.bias", kSame},
    {"layer_norm/gamma", "final_layer_norm.weight", kSame},
    {"layer_norm/beta", "final_layer_norm.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"GPTNeoXBackbone", "gpt_neox.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "GPTNeoXTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kTextToken,
               .end = kTextToken,
               .words = tokenizers::kGpt2Words,
               .nfc = true},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "gpt_neox", .keras_class = "GPTNeoXTokenizer", .is_converted = false},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "gpt_neo_x",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::gpt_neo_x
