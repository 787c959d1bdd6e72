// Bloom (keras_hub/src/models/bloom).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>

#include "classes/composite.h"
#include "classes/decoding.h"
#include "classes/layers/attention/alibi.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/rounding.h"
#include "families/blocks/alibi_attention.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_block.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::bloom {
namespace {

using graph::ValueId;

/// The bias depends on the distance from the last key, and is added to the scores after their scaling.
class BloomAttention final : public AlibiAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f("dropout", dropout);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 5> kNames = {"hidden_states", "attention_mask", "cache",
                                                               "cache_update_index", "use_causal_mask"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { declare_all(w, call.shape("hidden_states"), "_"); }
  Arg call(Call& call) override {
    const ValueId x = call.tensor("hidden_states")->id;
    if (call.lowering().symbolic()) return attend_with(call, x, std::nullopt);
    const Dim count = keys(call, call.builder().shape(x)[1]);
    const std::string key =
        fmt::format("alibi of {} heads and {} keys in {}", num_heads.value, count, attn::name_of(call.compute_dtype()));
    return attend_with(call, x, call.lowering().common(key, [&] { return std::vector{bias(call, count)}; })[0]);
  }

 private:
  /// (1,N,1,S)
  [[nodiscard]] ValueId bias(Call& call, Dim count) const {
    const Rounding rounded(call.compute_dtype());
    const std::vector<double> slopes = alibi_slopes(num_heads);
    Tensor out = table(call.compute_dtype(), {1, num_heads, 1, count}, "biases of heads and keys");
    for (Dim n = 0; n < num_heads; ++n)
      for (Dim s = 0; s < count; ++s)
        out.set(n * count + s,
                rounded(slopes[static_cast<std::size_t>(n)]) * rounded(static_cast<double>(s + 1 - count)));
    return call.builder().constant(std::move(out));
  }
};

class BloomDecoder final : public PlainBlock {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {"decoder_sequence",       "decoder_padding_mask",
                                                               "decoder_attention_mask", "cache",
                                                               "cache_update_index",     "use_causal_mask"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call);
    if (hidden_dim % num_heads != 0)
      throw bad_input("{} features cannot be divided among {} heads", hidden_dim, num_heads.value);
    attention_norm_ = &make_norm("pre_attention_layernorm", "_pre_attention_layernorm");
    attention_ = &make("BloomAttention", "self_attention", "_self_attention_layer",
                       {{"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"kernel_initializer", kernel_initializer.json},
                        {"bias_initializer", bias_initializer.json}});
    feed_forward_norm_ = &make_norm("post_attention_layernorm", "_post_attention_layernorm");
    intermediate_dense_ = &make_dense("mlp_intermediate_dense", "_mlp_intermediate_dense", intermediate_dim, "linear");
    output_dense_ = &make_dense("mlp_output_dense", "_mlp_output_dense", hidden_dim, "linear");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    ArgDict how = attending(call, in);
    how.back().second = call.flag("use_causal_mask", true);
    const TensorPtr x = sum(call, apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how), in);
    const TensorPtr wide = apply(call, *intermediate_dense_, {apply(call, *feed_forward_norm_, {x})});
    const TensorPtr active = Call::result(call.builder().unary(graph::UnaryFn::gelu_tanh, wide->id));
    return sum(call, apply(call, *output_dense_, {active}), x);
  }

 private:
  Positive num_heads;
  Number dropout;
};

class BloomBackbone : public HeadedBackbone {
 public:
  BloomBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef rows =
        call(token_embedding({{"embeddings_initializer", normal_initializer("RandomNormal", 0.02)}}), {token_ids});
    const Json block = {{"num_heads", num_heads.value},
                        {"intermediate_dim", intermediate_dim.value},
                        {"dropout", dropout.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value}};
    const TensorRef x =
        call("LayerNormalization", "embedding_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {rows});
    set_inputs({token_ids, padding_mask});
    output_struct = call("LayerNormalization", "final_layernorm", {{"epsilon", layer_norm_epsilon.value}},
                         {through_blocks(x, "BloomDecoder", "transformer_layer", [&](auto) { return block; },
                                         {{"decoder_padding_mask", padding_mask}})});
  }

 private:
  Number layer_norm_epsilon = 1e-5;
};

/// Returns `other` if the config that is read has only that name; otherwise `now`.
const char* either(const ConfigMap& map, const char* now, const char* other) {
  return map.reading() && !map.find(now) && map.find(other) ? other : now;
}

void sizes(ConfigMap& map) {
  const char* const width = either(map, "hidden_size", "n_embed");
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", either(map, "n_layer", "num_hidden_layers"));
  map.same("num_heads", either(map, "n_head", "num_attention_heads"));
  map.same("hidden_dim", width);
  four_times_as_wide(map, width);
  map.same("dropout", "hidden_dropout", 0.0);
  map.same("layer_norm_epsilon", "layer_norm_epsilon", 1e-5);
  map.fixed("apply_residual_connection_post_layernorm", {false});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "BloomAttention",
              .make = make_layer<BloomAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.bloom.bloom_attention",
              .role = Role::attention,
              .symbols = kAlibiAttentionSymbols},
    ClassInfo{.name = "BloomDecoder",
              .make = make_layer<BloomDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.bloom.bloom_decoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<BloomBackbone>("BloomBackbone", "keras_hub.src.models.bloom.bloom_backbone"),
    model_record<CausalLM>("BloomCausalLM", "keras_hub.src.models.bloom.bloom_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"bloom", "Bloom", "Bloom", sizes, false},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 21> kNames{{
    {"token_embedding/embeddings", "word_embeddings.weight", kSame},
    {"embedding_layernorm/gamma", "word_embeddings_layernorm.weight", kSame},
    {"embedding_layernorm/beta", "word_embeddings_layernorm.bias", kSame},
    {"transformer_layer_{}/self_attention/query_dense/kernel", "h.{}.self_attention.query_key_value.weight",
     kLinearByHead},
    {"transformer_layer_{}/self_attention/key_dense/kernel", "h.{}.self_attention.query_key_value.weight",
     kLinearByHead},
    {"transformer_layer_{}/self_attention/value_dense/kernel", "h.{}.self_attention.query_key_value.weight",
     kLinearByHead},
    {"transformer_layer_{}/self_attention/query_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/self_attention/key_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/self_attention/value_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/self_attention/output_dense/kernel", "h.{}.self_attention.dense.weight", kLinear},
    {"transformer_layer_{}/self_attention/output_dense/bias", "h.{}.self_attention.dense.bias", kSame},
    {"transformer_layer_{}/pre_attention_layernorm/gamma", "h.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/pre_attention_layernorm/beta", "h.{}.input_layernorm.bias", kSame},
    {"transformer_layer_{}/post_attention_layernorm/gamma", "h.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/beta", "h.{}.post_attention_layernorm.bias", kSame},
    {"transformer_layer_{}/mlp_intermediate_dense/kernel", "h.{}.mlp.dense_h_to_4h.weight", kLinear},
    {"transformer_layer_{}/mlp_intermediate_dense/bias", "h.{}.mlp.dense_h_to_4h.bias", kSame},
    {"transformer_layer_{}/mlp_output_dense/kernel", "h.{}.mlp.dense_4h_to_h.weight", kLinear},
    {"transformer_layer_{}/mlp_output_dense/bias", "h.{}.mlp.dense_4h_to_h.bias", kSame},
    {"final_layernorm/gamma", "ln_f.weight", kSame},
    {"final_layernorm/beta", "ln_f.bias", kSame},
}};
constexpr std::array kInner = {weights::InnerAxis{"/mlp_intermediate_dense/kernel", 1},
                               weights::InnerAxis{"/mlp_intermediate_dense/bias", 0},
                               weights::InnerAxis{"/mlp_output_dense/kernel", 0}};
constexpr std::array kWeightNames = {
    NameTable{.backbone = "BloomBackbone", .prefix = "transformer.", .rows = kNames, .padded = kInner},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
/// Words end at punctuation.
constexpr std::string_view kWords = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";
constexpr std::array kTokenizers = {
    KerasClass{.name = "BloomTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kStartToken,
               .end = kEndToken,
               .pad = kPadToken,
               .words = kWords},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "bloom", .keras_class = "BloomTokenizer", .is_converted = false},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "bloom",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::bloom
