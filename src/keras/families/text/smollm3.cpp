// SmolLM3 (keras_hub/src/models/smollm3).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attn/base/text.h"
#include "classes/decoding.h"
#include "classes/layers/attention/attend.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_block.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::smollm3 {
namespace {

using graph::ValueId;

/// Cosines and sines, each (B or 1,T,H), of the positions of x. The frequencies are a variable that KerasHub does not
/// train.
class SmolLM3RotaryEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_attention_heads", num_attention_heads);
    f.required("max_position_embeddings", max_position_embeddings);
    f.required("rope_theta", rope_theta);
    f.required("partial_rotary_factor", partial_rotary_factor);
  }
  void check(const Ref& config) override {
    if (!(rope_theta > 0.0)) config["rope_theta"].fail("expected a number > 0");
    if (partial_rotary_factor != 1.0)
      config["partial_rotary_factor"].fail("expected 1.0: in KerasHub all features of a head have rotary positions");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "start_index"};
    return kNames;
  }
  void build(Weights& w, Call&) override {
    const Dim size = hidden_size / num_attention_heads;
    if (size < 2 || size % 2 != 0)
      throw bad_input("expected an even number of features in a head for rotary positions, got {}", size);
    check_turning(size);
    graph::Initializer frequencies;
    frequencies.class_name = "Constant";
    for (Dim i = 0; i < size; i += 2)
      frequencies.values.push_back(
          1.0F / std::pow(static_cast<float>(rope_theta), static_cast<float>(i) / static_cast<float>(size)));
    w.set_dtype(DType::float32);
    w.add("inv_freq", {size / 2}, frequencies, false);
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Shape in = call.shape("x");
    const Decoding* decoding = call.lowering().decoding;
    const ValueId positions =
        decoding != nullptr ? decoding->positions : b.apply(graph::Iota{{1, in[1]}, DType::int32, 1}, {});
    const Expression frequencies(b, b.cast(call.weight(0), DType::float32));
    const Expression halves =
        Expression(b, b.expand_dims(b.cast(positions, DType::float32), -1)) * frequencies;  // (1,T,H/2)
    const ValueId angles = b.apply(graph::Concat{2}, {halves, halves});
    const DType dtype = b.dtype(call.tensor("x")->id);
    return ArgList{Call::result(b.cast(b.unary(graph::UnaryFn::cos, angles), dtype)),
                   Call::result(b.cast(b.unary(graph::UnaryFn::sin, angles), dtype))};
  }

 private:
  Positive hidden_size, num_attention_heads, max_position_embeddings = 2048;
  Number rope_theta{10000.0}, partial_rotary_factor{1.0};
};

class SmolLM3Attention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("attention_bias", attention_bias);
    f.required("attention_dropout", attention_dropout);
    f.required("rope_layer_enabled_list", rope_layer_enabled_list);
    f.required("layer_types", layer_types);
    f.required("layer_idx", layer_idx);
    f("max_position_embeddings", max_position_embeddings);
    f("rope_theta", rope_theta);
    f("partial_rotary_factor", partial_rotary_factor);
  }
  void check(const Ref& config) override {
    if (hidden_size < num_attention_heads)
      config["num_attention_heads"].fail(
          fmt::format("{} features are too few for {} heads", hidden_size.value, num_attention_heads.value));
    if (num_attention_heads % num_key_value_heads != 0)
      config["num_key_value_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                     num_attention_heads.value, num_key_value_heads.value));
    if (layer_idx < 0 || layer_idx >= static_cast<std::int64_t>(layer_types.size()))
      config["layer_types"].fail(fmt::format("the layer {} has no type in it", layer_idx));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 4> kNames = {"hidden_states", "training", "attention_mask",
                                                               "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_attention_heads, size()}; }

  void build(Weights&, Call&) override {
    const auto dense = [&](const char* called, std::int64_t heads) -> Layer& {
      return make("Dense", called, called, {{"units", heads * size()}, {"use_bias", attention_bias}});
    };
    q_proj_ = &dense("q_proj", num_attention_heads);
    k_proj_ = &dense("k_proj", num_key_value_heads);
    v_proj_ = &dense("v_proj", num_key_value_heads);
    // o_proj and rotary_emb are built before the attention is called, so their variable paths do not include its name.
    o_proj_ = &make_detached("EinsumDense", "o_proj", "o_proj",
                             {{"equation", "bquh,uhm->bqm"}, {"output_shape", {nullptr, hidden_size.value}}});
    rotary_embedding_ = &make_detached("SmolLM3RotaryEmbedding", "rotary_emb", "rotary_embedding",
                                       {{"hidden_size", hidden_size.value},
                                        {"num_attention_heads", num_attention_heads.value},
                                        {"max_position_embeddings", max_position_embeddings.value},
                                        {"rope_theta", rope_theta.value},
                                        {"partial_rotary_factor", partial_rotary_factor.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("hidden_states");
    const Shape in = call.shape(x);
    const auto projected = [&](Layer& layer, std::int64_t heads) {
      return Expression(b, b.reshape(apply(call, layer, {x})->id, {in[0], in[1], heads, size()}));
    };
    Expression query = projected(*q_proj_, num_attention_heads), key = projected(*k_proj_, num_key_value_heads);
    const Expression value = projected(*v_proj_, num_key_value_heads);
    // A layer beyond the list has rotary positions.
    const auto at = static_cast<std::size_t>(layer_idx);
    const bool turns = at >= rope_layer_enabled_list.size() || rope_layer_enabled_list[at];
    const auto both = tensors_of(call.lowering().apply(*rotary_embedding_, ArgList{Call::result(query)}, ArgDict{}));
    if (turns && !call.lowering().symbolic()) {
      const Angles angles{b.expand_dims(both[0]->id, 2), b.expand_dims(both[1]->id, 2)};
      query = turned(query, angles);
      key = turned(key, angles);
    }
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size()));
    how.path = softmax_path(call);
    how.causal = call.flag("use_causal_mask");
    if (const TensorPtr mask = call.optional_tensor("attention_mask"))
      how.masks = {b.cast(b.expand_dims(mask->id, 1), DType::boolean)};
    how.scores = call.lowering().want_scores;
    const Attended attended = attend(call, query, key, value, how);
    if (attended.scores != graph::kNone) call.lowering().add_scores(attended.scores);
    return apply(call, *o_proj_, {Call::result(attended.context)});
  }

 private:
  [[nodiscard]] std::int64_t size() const { return hidden_size / num_attention_heads; }

  Positive hidden_size, num_attention_heads, num_key_value_heads, max_position_embeddings = 2048;
  bool attention_bias = false;
  Number attention_dropout{0.0}, rope_theta{10000.0}, partial_rotary_factor{1.0};
  std::vector<bool> rope_layer_enabled_list;
  std::vector<std::string> layer_types;
  std::int64_t layer_idx = 0;
  Layer* q_proj_ = nullptr;
  Layer* k_proj_ = nullptr;
  Layer* v_proj_ = nullptr;
  Layer* o_proj_ = nullptr;
  Layer* rotary_embedding_ = nullptr;
};

/// Computes (silu(x·gate) ∘ x·up)·down.
class SmolLM3MLP final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("intermediate_size", intermediate_size);
    f.required("mlp_bias", mlp_bias);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const auto dense = [&](const char* called, std::int64_t units) -> Layer& {
      return make("Dense", called, called, {{"units", units}, {"use_bias", mlp_bias}});
    };
    gate_proj_ = &dense("gate_proj", intermediate_size);
    up_proj_ = &dense("up_proj", intermediate_size);
    down_proj_ = &dense("down_proj", hidden_size);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("x");
    const ValueId gate = b.unary(graph::UnaryFn::silu, apply(call, *gate_proj_, {x})->id);
    const ValueId up = apply(call, *up_proj_, {x})->id;
    return apply(call, *down_proj_, {Call::result(b.binary(graph::BinaryFn::multiply, gate, up))});
  }

 private:
  Positive hidden_size, intermediate_size;
  bool mlp_bias = false;
  Layer* gate_proj_ = nullptr;
  Layer* up_proj_ = nullptr;
  Layer* down_proj_ = nullptr;
};

class SmolLM3DecoderLayer final : public DecoderBlock {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    for (const char* key : kAttention) f.required(key, attention[key]);
    f.required("intermediate_size", intermediate_size);
    f.required("mlp_bias", mlp_bias);
    f.required("layer_norm_epsilon", layer_norm_epsilon);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {
        "hidden_states", "decoder_padding_mask", "decoder_attention_mask",
        "training",      "self_attention_cache", "self_attention_cache_update_index"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    Json arguments = {{"hidden_size", hidden_size.value}};
    for (const auto& [key, value] : attention) arguments[key] = value.json;
    self_attn_ = &make("SmolLM3Attention", "self_attn", "self_attn", std::move(arguments));
    mlp_ = &make(
        "SmolLM3MLP", "mlp", "mlp",
        {{"hidden_size", hidden_size.value}, {"intermediate_size", intermediate_size.value}, {"mlp_bias", mlp_bias}});
    const auto norm = [&](const char* called) -> Layer& {
      return make("RMSNormalization", called, called, {{"epsilon", layer_norm_epsilon.value}, {"axis", -1}});
    };
    input_layernorm_ = &norm("input_layernorm");
    post_attention_layernorm_ = &norm("post_attention_layernorm");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    const ArgDict how = attending(call, in);
    const TensorPtr x = sum(call, in, apply(call, *self_attn_, {apply(call, *input_layernorm_, {in})}, how));
    return sum(call, x, apply(call, *mlp_, {apply(call, *post_attention_layernorm_, {x})}));
  }

 private:
  /// The fields that a block passes to its attention.
  static constexpr std::array kAttention = {"num_attention_heads",
                                            "num_key_value_heads",
                                            "attention_bias",
                                            "attention_dropout",
                                            "rope_layer_enabled_list",
                                            "layer_types",
                                            "layer_idx",
                                            "max_position_embeddings",
                                            "rope_theta",
                                            "partial_rotary_factor"};

  Positive hidden_size, intermediate_size;
  std::map<std::string, Opaque, std::less<>> attention;
  bool mlp_bias = false;
  Number layer_norm_epsilon{1e-6};
  Layer* self_attn_ = nullptr;
  Layer* mlp_ = nullptr;
  Layer* input_layernorm_ = nullptr;
  Layer* post_attention_layernorm_ = nullptr;
};

class SmolLM3Backbone : public TextBackbone {
 public:
  SmolLM3Backbone() { dropout = 0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_layers", num_layers);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("attention_bias", attention_bias);
    f.required("attention_dropout", attention_dropout);
    f.required("rope_layer_enabled_list", rope_layer_enabled_list);
    f.required("layer_types", layer_types);
    f.required("mlp_bias", mlp_bias);
    f.required("layer_norm_epsilon", layer_norm_epsilon);
    f.required("max_position_embeddings", max_position_embeddings);
    f.required("rope_theta", rope_theta);
    f.required("partial_rotary_factor", partial_rotary_factor);
  }

 protected:
  /// KerasHub does not pass the dtype on: its layers have the global policy, float32, for any dtype of the config.
  void assemble() override {
    const DTypePolicy stated = policy;
    policy.name = "float32";
    policy.compute = policy.variable = DType::float32;
    assemble_layers();
    policy = stated;
  }

 private:
  void assemble_layers() {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    Json block = {{"hidden_size", hidden_dim.value},
                  {"num_attention_heads", num_attention_heads.value},
                  {"num_key_value_heads", num_key_value_heads.value},
                  {"attention_bias", attention_bias},
                  {"attention_dropout", attention_dropout.value},
                  {"rope_layer_enabled_list", rope_layer_enabled_list},
                  {"layer_types", layer_types},
                  {"intermediate_size", intermediate_dim.value},
                  {"mlp_bias", mlp_bias},
                  {"layer_norm_epsilon", layer_norm_epsilon.value},
                  {"max_position_embeddings", max_position_embeddings.value},
                  {"rope_theta", rope_theta.value},
                  {"partial_rotary_factor", partial_rotary_factor.value}};
    const TensorRef x =
        through_blocks(call(token_embedding(Json::object()), {token_ids}), "SmolLM3DecoderLayer", "transformer_layer",
                       [&](std::int64_t i) {
                         block["layer_idx"] = i;
                         return block;
                       },
                       {{"decoder_padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = call("RMSNormalization", "sequence_output_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {x});
  }

  Positive num_attention_heads, num_key_value_heads, max_position_embeddings;
  bool attention_bias = false, mlp_bias = false;
  Number attention_dropout, layer_norm_epsilon, rope_theta, partial_rotary_factor;
  std::vector<bool> rope_layer_enabled_list;
  std::vector<std::string> layer_types;
};

/// Converts the list of layers with rotary positions: a number for each layer.
void turning_layers(ConfigMap& map) {
  // 1: the layer has rotary positions.
  constexpr const char *kKeras = "rope_layer_enabled_list", *kOwn = "no_rope_layers";
  if (!map.reading()) {
    Json list = Json::array();
    for (const Json& turns : map.of_keras(kKeras)) list.push_back(turns.get<bool>() ? 1 : 0);
    return map.put(kOwn, std::move(list));
  }
  Json list = Json::array();
  if (const auto found = map.find(kOwn)) {
    for (const Ref& turns : found->elements()) list.push_back(turns.is_bool() ? turns.boolean() : turns.integer() != 0);
  } else {
    const std::int64_t interval = map.integer("no_rope_layer_interval", 4);
    const std::int64_t count = std::min(map.integer("num_hidden_layers"), kMaxBlocks);
    for (std::int64_t i = 1; i <= count; ++i) list.push_back(i % interval != 0);
  }
  map.put(kKeras, std::move(list), map.find(kOwn) ? kOwn : "");
}

/// KerasHub supports only layers of the same type.
void layer_types(ConfigMap& map) {
  constexpr const char *kKey = "layer_types", *kType = "full_attention";
  if (!map.reading()) return map.put(kKey, map.of_keras(kKey));
  if (const auto found = map.find(kKey)) {
    for (const Ref& type : found->elements())
      if (type.text() != kType) map.refuse(type, "layers of the type '" + shortened(type.text()) + "'");
    return map.put(kKey, found->json(), kKey);
  }
  const auto count = static_cast<std::size_t>(std::min(map.integer("num_hidden_layers"), kMaxBlocks));
  map.put(kKey, std::vector<std::string>(count, kType));
}

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_attention_heads", "num_attention_heads");
  map.same("num_key_value_heads", "num_key_value_heads", 4);
  map.same("attention_bias", "attention_bias", false);
  map.same("attention_dropout", "attention_dropout", 0.0);
  turning_layers(map);
  layer_types(map);
  map.same("mlp_bias", "mlp_bias", false);
  map.same("layer_norm_epsilon", "rms_norm_eps", 1e-6);
  map.same("max_position_embeddings", "max_position_embeddings", 32768);
  rope_theta(map, "rope_theta", 2e6);
  if (map.reading()) {
    map.put("partial_rotary_factor", 1.0);
    if (const auto scaling = rope_scaling(map))
      map.refuse(*scaling, "positions scaled by '" + rope_type(*scaling) + "'");
  } else {
    map.put("pad_token_id", Json());  // transformers' default exceeds a small vocabulary
  }
  map.fixed("use_sliding_window", {false});
  map.fixed("hidden_act", {"silu"});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::string_view kModule = "keras_hub.src.models.smollm3.smollm3_layers";
constexpr std::array kLayers = {
    ClassInfo{.name = "SmolLM3RotaryEmbedding",
              .make = make_layer<SmolLM3RotaryEmbedding>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::embedding},
    ClassInfo{.name = "SmolLM3Attention",
              .make = make_layer<SmolLM3Attention>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::attention},
    ClassInfo{.name = "SmolLM3MLP", .make = make_layer<SmolLM3MLP>, .since = kAnyKeras, .module = kModule},
    ClassInfo{.name = "SmolLM3DecoderLayer",
              .make = make_layer<SmolLM3DecoderLayer>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<SmolLM3Backbone>("SmolLM3Backbone", "keras_hub.src.models.smollm3.smollm3_backbone"),
    model_record<CausalLM>("SmolLM3CausalLM", "keras_hub.src.models.smollm3.smollm3_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"smollm3", "SmolLM3", "SmolLM3", sizes},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// In KerasHub, the paths of the attention output and of the position frequencies have no block name. Files do not
/// contain the frequencies.
constexpr std::array<NameRow, 18> kNames{{
    {"token_embedding/embeddings", "embed_tokens.weight", kSame},
    {"transformer_layer_{}/self_attn/q_proj/kernel", "layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attn/q_proj/bias", "layers.{}.self_attn.q_proj.bias", kSame},
    {"transformer_layer_{}/self_attn/k_proj/kernel", "layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attn/k_proj/bias", "layers.{}.self_attn.k_proj.bias", kSame},
    {"transformer_layer_{}/self_attn/v_proj/kernel", "layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attn/v_proj/bias", "layers.{}.self_attn.v_proj.bias", kSame},
    {"o_proj/kernel#{}", "layers.{}.self_attn.o_proj.weight", kFromHeads},
    {"rotary_emb/inv_freq#{}", "", kSame},
    {"transformer_layer_{}/mlp/gate_proj/kernel", "layers.{}.mlp.gate_proj.weight", kLinear},
    {"transformer_layer_{}/mlp/gate_proj/bias", "layers.{}.mlp.gate_proj.bias", kSame},
    {"transformer_layer_{}/mlp/up_proj/kernel", "layers.{}.mlp.up_proj.weight", kLinear},
    {"transformer_layer_{}/mlp/up_proj/bias", "layers.{}.mlp.up_proj.bias", kSame},
    {"transformer_layer_{}/mlp/down_proj/kernel", "layers.{}.mlp.down_proj.weight", kLinear},
    {"transformer_layer_{}/mlp/down_proj/bias", "layers.{}.mlp.down_proj.bias", kSame},
    {"transformer_layer_{}/input_layernorm/scale", "layers.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/scale", "layers.{}.post_attention_layernorm.weight", kSame},
    {"sequence_output_layernorm/scale", "norm.weight", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"SmolLM3Backbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 3> kFurtherTokens{"<|begin_of_text|>", "<think>", "</think>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "SmolLM3Tokenizer",
               .kind = TokenizerKind::byte_pairs,
               .end = "<|end_of_text|>",
               .more = kFurtherTokens,
               .words = tokenizers::kLlama3Words},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "smollm3", .keras_class = "SmolLM3Tokenizer"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "smollm3",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::smollm3
