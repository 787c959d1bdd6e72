// OPT (keras_hub/src/models/opt).
#include <array>

#include "classes/composite.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::opt {
namespace {

class OPTBackbone : public HeadedBackbone {
 public:
  OPTBackbone() { max_sequence_length = 2048; }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const Json initializer = normal_initializer("TruncatedNormal", 0.02);
    const TensorRef x = call("TokenAndPositionEmbedding", "embeddings",
                             {{"vocabulary_size", vocabulary_size.value},
                              {"sequence_length", max_sequence_length.value},
                              {"embedding_dim", hidden_dim.value},
                              {"embeddings_initializer", initializer}},
                             {token_ids});
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"activation", "relu"},
                        {"layer_norm_epsilon", 1e-5},
                        {"normalize_first", true},
                        {"kernel_initializer", initializer}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(x, "TransformerDecoder", "transformer_layer", [&](auto) { return block; },
                                              {{"decoder_padding_mask", padding_mask}}),
                               1e-5);
  }
};

void sizes(ConfigMap& map) {
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "ffn_dim");
  map.same("dropout", "dropout", 0.1);
  map.same("max_sequence_length", "max_position_embeddings", 2048);
  if (!map.reading()) {
    map.put("word_embed_proj_dim", map.of_keras("hidden_dim"));
  } else if (const auto width = map.find("word_embed_proj_dim"); width && width->json() != map.result()["hidden_dim"]) {
    map.refuse(*width, "embeddings of another width than the blocks");
  }
  map.fixed("activation_function", {"relu"});
  map.fixed("do_layer_norm_before", {true});
  map.fixed("enable_bias", {true});
  map.fixed("tie_word_embeddings", {true});
}

constexpr std::array kModels = {
    model_record<OPTBackbone>("OPTBackbone", "keras_hub.src.models.opt.opt_backbone"),
    model_record<CausalLM>("OPTCausalLM", "keras_hub.src.models.opt.opt_causal_lm"),
};

constexpr std::array kHuggingFace = {
    HuggingFaceModel{"opt", "OPT", "OPT", sizes, false},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
/// The first two rows of its position table are unused.
constexpr std::array<NameRow, 20> kNames{{
    {"embeddings/token_embedding/embeddings", "decoder.embed_tokens.weight", kSame},
    {"embeddings/position_embedding/embeddings", "decoder.embed_positions.weight", kSame, false, 2},
    {"transformer_layer_{}/self_attention/query/kernel", "decoder.layers.{}.self_attn.q_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/query/bias", "decoder.layers.{}.self_attn.q_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/key/kernel", "decoder.layers.{}.self_attn.k_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/key/bias", "decoder.layers.{}.self_attn.k_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/value/kernel", "decoder.layers.{}.self_attn.v_proj.weight", kLinear},
    {"transformer_layer_{}/self_attention/value/bias", "decoder.layers.{}.self_attn.v_proj.bias", kVector},
    {"transformer_layer_{}/self_attention/attention_output/kernel", "decoder.layers.{}.self_attn.out_proj.weight",
     kFromHeads},
    {"transformer_layer_{}/self_attention/attention_output/bias", "decoder.layers.{}.self_attn.out_proj.bias", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/gamma", "decoder.layers.{}.self_attn_layer_norm.weight", kSame},
    {"transformer_layer_{}/self_attention_layer_norm/beta", "decoder.layers.{}.self_attn_layer_norm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "decoder.layers.{}.fc1.weight", kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "decoder.layers.{}.fc1.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "decoder.layers.{}.fc2.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "decoder.layers.{}.fc2.bias", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/gamma", "decoder.layers.{}.final_layer_norm.weight", kSame},
    {"transformer_layer_{}/feedforward_layer_norm/beta", "decoder.layers.{}.final_layer_norm.bias", kSame},
    {"layer_norm/gamma", "decoder.final_layer_norm.weight", kSame},
    {"layer_norm/beta", "decoder.final_layer_norm.bias", kSame},
}};
constexpr std::array kWeightNames = {
    NameTable{"OPTBackbone", "model.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array kTokenizers = {
    KerasClass{.name = "OPTTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kEndToken,
               .end = kEndToken,
               .pad = kPadToken,
               .words = tokenizers::kGpt2Words},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "opt",
                    .keras_class = "OPTTokenizer",
                    .is_converted = false,
                    .vocabulary = FolderTokenizer::Vocabulary::vocab_json_if_there,
                    .around = FolderTokenizer::Around::start},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "opt",
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::opt
