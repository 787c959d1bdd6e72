// GPT-2 (keras_hub/src/models/gpt2).
#include <array>

#include "classes/composite.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::gpt2 {
namespace {

class GPT2Backbone : public HeadedBackbone {
 public:
  GPT2Backbone() { max_sequence_length = 1024; }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef rows =
        call(token_embedding({{"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}}), {token_ids});
    const Json initializer = normal_initializer("RandomNormal", 0.02);
    const TensorRef positions =
        call("PositionEmbedding", "position_embedding",
             {{"sequence_length", max_sequence_length.value}, {"initializer", initializer}}, {rows});
    const TensorRef x =
        embeddings_dropout(call("Add", "embeddings_add", Json::object(), {Arg(ArgList{rows, positions})}));
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"layer_norm_epsilon", 1e-5},
                        {"activation", gelu_approximate()},
                        {"kernel_initializer", initializer},
                        {"normalize_first", true}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(x, "TransformerDecoder", "transformer_layer", [&](auto) { return block; },
                                              {{"decoder_padding_mask", padding_mask}}),
                               1e-5);
  }
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "n_layer");
  map.same("num_heads", "n_head");
  map.same("hidden_dim", "n_embd");
  if (map.reading() && (map.as_keras_hub() || !map.find("n_inner"))) {
    if (map.integer("n_embd") > std::int64_t{1} << 40) map.find("n_embd")->fail("a size of over 2^40 is not accepted");
    map.put("intermediate_dim", 4 * map.integer("n_embd"), "n_embd");
  } else {
    map.same("intermediate_dim", "n_inner");
  }
  map.same("dropout", "resid_pdrop", 0.1);
  map.same("max_sequence_length", "n_positions", 1024);
  map.fixed("activation_function", {"gelu_new", kTanhGelu});
  map.fixed("layer_norm_epsilon", {1e-5});
  map.fixed("scale_attn_weights", {true});
  map.fixed("scale_attn_by_inverse_layer_idx", {false});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::array kModels = {
    model_record<GPT2Backbone>("GPT2Backbone", "keras_hub.src.models.gpt2.gpt2_backbone"),
    model_record<CausalLM>("GPT2CausalLM", "keras_hub.src.models.gpt2.gpt2_causal_lm"),
};

constexpr std::array kHeads{Head{"LMHeadModel", "CausalLM"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "gpt2", .stem = "GPT2", .architecture = "GPT2", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 20> kNames{{
    {"token_embedding/embeddings", "wte.weight", kSame},
    {"position_embedding/embeddings", "wpe.weight", kSame},
    {"transformer_layer_{}/self_attention/query/kernel", "h.{}.attn.c_attn.weight", kConv1d},
    {"transformer_layer_{}/self_attention/key/kernel", "h.{}.attn.c_attn.weight", kConv1d},
    {"transformer_layer_{}/self_attention/value/kernel", "h.{}.attn.c_attn.weight", kConv1d},
    {"transformer_layer_{}/self_attention/query/bias", "h.{}.attn.c_attn.bias", kVector},
    {"transformer_layer_{}/self_attention/key/bias", "h.{}.attn.c_attn.bias", kVector},
    {"transformer_layer_{}/self_attention/value/bias", "h.{}.attn.c_attn.bias", kVector},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "h.{}.attn.c_proj.weight", kConv1dFromHeads},
    {"transformer_layer_{}/self_attention/attention_output/bias", "h.{}.attn.c_proj.bias", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "h.{}.ln_1.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "h.{}.ln_1.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "h.{}.mlp.c_fc.weight", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "h.{}.mlp.c_fc.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "h.{}.mlp.c_proj.weight", kSame},
    {"transformer_layer_{}/feedforward_output_dense/bias", "h.{}.mlp.c_proj.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "h.{}.ln_2.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "h.{}.ln_2.bias", kSame},
    {"layer_norm/gamma", "ln_f.weight", kSame},
    {"layer_norm/beta", "ln_f.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"GPT2Backbone", "transformer.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "GPT2Tokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kTextToken,
               .end = kTextToken,
               .words = tokenizers::kGpt2Words},
};

constexpr std::array kFolders = {
    FolderTokenizer{
        .model_type = "gpt2", .keras_class = "GPT2Tokenizer", .vocabulary = FolderTokenizer::Vocabulary::vocab_json},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "gpt2",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::gpt2
