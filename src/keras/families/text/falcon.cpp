// Falcon-RW, the only Falcon that KerasHub has (keras_hub/src/models/falcon).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "classes/composite.h"
#include "classes/decoding.h"
#include "classes/layers/attention/alibi.h"
#include "classes/ops/expression.h"
#include "families/blocks/alibi_attention.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/decoders/decoder_block.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::falcon {
namespace {

using graph::ValueId;

/// Receives the bias as an argument, and adds it to the scores before they are scaled.
class FalconAttention final : public AlibiAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("attention_dropout_rate", dropout);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 6> kNames = {
        "inputs", "alibi", "attention_mask", "cache", "cache_update_index", "use_causal_mask"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { declare_all(w, call.shape("inputs"), ""); }
  Arg call(Call& call) override {
    const ValueId x = call.tensor("inputs")->id;
    const TensorPtr alibi = call.optional_tensor("alibi");
    if (alibi == nullptr || call.lowering().symbolic()) return attend_with(call, x, std::nullopt);
    const Expression bias(call.builder(), alibi->id);
    return attend_with(call, x, bias * (1.0 / std::sqrt(static_cast<double>(head_size_))));
  }
};

class FalconTransformerDecoder final : public PlainBlock {
 public:
  FalconTransformerDecoder() { attention_dropout_rate = feedforward_dropout_rate = Number(0); }
  void fields(Fields& f) override {
    f.required("num_attention_heads", num_attention_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("attention_dropout_rate", attention_dropout_rate);
    f("feedforward_dropout_rate", feedforward_dropout_rate);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {
        "inputs",          "decoder_padding_mask",         "decoder_attention_mask",
        "attention_cache", "attention_cache_update_index", "training"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call);
    if (hidden_dim % num_attention_heads != 0)
      throw bad_input("{} features cannot be divided among {} heads", hidden_dim, num_attention_heads.value);
    attention_norm_ = &make_norm("input_layernorm", "input_layernorm");
    attention_ =
        &make("FalconAttention", "attention", "attention_layer",
              {{"num_heads", num_attention_heads.value}, {"attention_dropout_rate", attention_dropout_rate.value}});
    feed_forward_norm_ = &make_norm("post_attention_layernorm", "post_attention_layernorm");
    intermediate_dense_ = &make_dense("dense_h_to_4h", "dense_h_to_4h", intermediate_dim, "gelu");
    output_dense_ = &make_dense("dense_4h_to_h", "dense_4h_to_h", hidden_dim, "linear");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    ArgDict how = attending(call, in);
    if (!call.lowering().symbolic()) how.emplace_back("alibi", Call::result(shared_alibi(call, call.shape(in))));
    const TensorPtr x = sum(call, apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how), in);
    const TensorPtr wide = apply(call, *intermediate_dense_, {apply(call, *feed_forward_norm_, {x})});
    return sum(call, apply(call, *output_dense_, {wide}), x);
  }

 private:
  /// Blocks with the same padding mask share the bias.
  [[nodiscard]] ValueId shared_alibi(Call& call, const Shape& in) const {
    const TensorPtr padding = call.optional_tensor("decoder_padding_mask");
    const std::string key =
        fmt::format("alibi of {} heads and {} keys behind {} in {}", num_attention_heads.value, in[1],
                    padding == nullptr ? graph::kNone : padding->id, attn::name_of(call.compute_dtype()));
    return call.lowering().common(key, [&] { return std::vector{alibi(call, in)}; })[0];
  }

  /// Returns the bias (B or 1,N,1,S): the slope, times the index of each key among the keys that are not padding.
  [[nodiscard]] ValueId alibi(Call& call, const Shape& in) const {
    graph::Builder& b = call.builder();
    const Decoding* decoding = call.lowering().decoding;
    const TensorPtr padding = decoding == nullptr ? call.optional_tensor("decoder_padding_mask") : nullptr;
    const DType dtype = call.compute_dtype();
    Tensor slopes(dtype, {1, num_attention_heads, 1, 1});
    const std::vector<double> exact = alibi_slopes(num_attention_heads);
    for (std::size_t n = 0; n < exact.size(); ++n) slopes.set(static_cast<std::int64_t>(n), exact[n]);
    const Dim keys = decoding != nullptr ? decoding->capacity : in[1];
    ValueId places = b.apply(graph::Iota{{1, keys}, DType::int32, 1}, {});
    if (padding != nullptr) {
      const Expression mask(b, b.cast(padding->id, DType::int32));
      const Expression count(b, b.apply(graph::Cumulate{false, 1}, {mask}));
      places = (count - count.number(1.0)) * mask;
    }
    const ValueId wide = b.expand_dims(b.expand_dims(b.cast(places, dtype), 1), 1);
    return b.binary(graph::BinaryFn::multiply, b.constant(std::move(slopes)), wide);
  }

  Positive num_attention_heads;
  Number attention_dropout_rate, feedforward_dropout_rate;
};

class FalconBackbone : public TextBackbone {
 public:
  FalconBackbone() { dropout = 0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_attention_heads", num_attention_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("attention_dropout_rate", attention_dropout_rate);
    f("feedforward_dropout_rate", feedforward_dropout_rate);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    // The backbone's ε is not passed to its blocks, which use their default.
    const Json block = {{"num_attention_heads", num_attention_heads.value},
                        {"intermediate_dim", intermediate_dim.value},
                        {"attention_dropout_rate", attention_dropout_rate.value},
                        {"feedforward_dropout_rate", feedforward_dropout_rate.value}};
    TensorRef x = call(token_embedding(Json::object()), {token_ids});
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call("FalconTransformerDecoder", fmt::format("transformer_layer_{}", i), block, {},
               {{"inputs", x}, {"decoder_padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = call("LayerNormalization", "final_layernorm", {{"epsilon", layer_norm_epsilon.value}}, {x});
  }

 private:
  Positive num_attention_heads;
  Number attention_dropout_rate{0}, feedforward_dropout_rate{0}, layer_norm_epsilon = 1e-5;
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_attention_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  if (map.reading() && !map.find("ffn_hidden_size")) {
    four_times_as_wide(map, "hidden_size");
  } else {
    map.same("intermediate_dim", "ffn_hidden_size");
  }
  map.same("attention_dropout_rate", "attention_dropout", 0.0);
  map.same("feedforward_dropout_rate", "hidden_dropout", 0.0);
  map.fixed("layer_norm_epsilon", {1e-5});  // the blocks of KerasHub have no other value
  if (!map.reading() && map.of_keras("layer_norm_epsilon") != 1e-5)
    throw bad_input("transformers has one layer_norm_epsilon for a whole Falcon, and KerasHub's blocks have 1e-05");
  map.always("alibi", true, false);
  map.always("multi_query", false, true);
  map.always("parallel_attn", false, true);
  map.always("bias", true, false);
  map.always("new_decoder_architecture", false, false);
  map.fixed("activation", {"gelu"});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::array kLayers = {
    ClassInfo{.name = "FalconAttention",
              .make = make_layer<FalconAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.falcon.falcon_attention",
              .role = Role::attention,
              .symbols = kAlibiAttentionSymbols},
    ClassInfo{.name = "FalconTransformerDecoder",
              .make = make_layer<FalconTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.falcon.falcon_transformer_decoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<FalconBackbone>("FalconBackbone", "keras_hub.src.models.falcon.falcon_backbone"),
    model_record<CausalLM>("FalconCausalLM", "keras_hub.src.models.falcon.falcon_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"falcon", "Falcon", "Falcon", sizes, false},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 19> kNames{{
    {"token_embedding/embeddings", "word_embeddings.weight", kSame},
    {"transformer_layer_{}/attention/query_dense/kernel", "h.{}.self_attention.query_key_value.weight", kLinearByHead},
    {"transformer_layer_{}/attention/key_dense/kernel", "h.{}.self_attention.query_key_value.weight", kLinearByHead},
    {"transformer_layer_{}/attention/value_dense/kernel", "h.{}.self_attention.query_key_value.weight", kLinearByHead},
    {"transformer_layer_{}/attention/query_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/attention/key_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/attention/value_dense/bias", "h.{}.self_attention.query_key_value.bias", kVectorByHead},
    {"transformer_layer_{}/attention/output_dense/kernel", "h.{}.self_attention.dense.weight", kLinear},
    {"transformer_layer_{}/attention/output_dense/bias", "h.{}.self_attention.dense.bias", kSame},
    {"transformer_layer_{}/input_layernorm/gamma", "h.{}.input_layernorm.weight", kSame},
    {"transformer_layer_{}/input_layernorm/beta", "h.{}.input_layernorm.bias", kSame},
    {"transformer_layer_{}/post_attention_layernorm/gamma", "h.{}.post_attention_layernorm.weight", kSame},
    {"transformer_layer_{}/post_attention_layernorm/beta", "h.{}.post_attention_layernorm.bias", kSame},
    {"transformer_layer_{}/dense_h_to_4h/kernel", "h.{}.mlp.dense_h_to_4h.weight", kLinear},
    {"transformer_layer_{}/dense_h_to_4h/bias", "h.{}.mlp.dense_h_to_4h.bias", kSame},
    {"transformer_layer_{}/dense_4h_to_h/kernel", "h.{}.mlp.dense_4h_to_h.weight", kLinear},
    {"transformer_layer_{}/dense_4h_to_h/bias", "h.{}.mlp.dense_4h_to_h.bias", kSame},
    {"final_layernorm/gamma", "ln_f.weight", kSame},
    {"final_layernorm/beta", "ln_f.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"FalconBackbone", "transformer.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "FalconTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kTextToken,
               .end = kTextToken,
               .words = tokenizers::kGpt2Words},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "falcon", .keras_class = "FalconTokenizer", .is_converted = false},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "falcon",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::falcon
