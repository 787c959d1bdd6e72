// ESM, ESM-2 (keras_hub/src/models/esm).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attn/base/error.h"
#include "classes/ops/expression.h"
#include "classes/rounding.h"
#include "families/blocks/config_keys.h"
#include "families/blocks/roformer_blocks.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"

namespace attn::keras::esm {
namespace {

using graph::ValueId;

/// RoFormer's attention, but it rotates the pairs of features (i, i + H/2), by angles in the compute dtype.
class EsmSelfAttention final : public RoformerAttention {
 public:
  void fields(Fields& f) override {
    RoformerAttention::fields(f);
    f("use_rotary", use_rotary);
  }

 protected:
  [[nodiscard]] ValueId rotated(Call& call, ValueId x) const override {
    if (!use_rotary) return x;
    graph::Builder& b = call.builder();
    const Dim width = b.shape(x).back(), length = b.shape(x)[1];
    if (width % 2 != 0) throw bad_input("expected an even number of features in a head, got {}", width);
    if (call.lowering().symbolic()) return x;
    check_turning(width);
    const Rounding rounded(call.compute_dtype());
    std::vector<double> frequencies;
    for (Dim i = 0; i < width; i += 2) {
      const double exponent = rounded(rounded(static_cast<double>(i)) / rounded(static_cast<double>(width)));
      frequencies.push_back(rounded(1.0 / rounded(std::pow(rounded(max_wavelength), exponent))));
    }
    const auto angle = [&](Dim t, Dim i) {
      return rounded(rounded(static_cast<double>(t)) * frequencies[static_cast<std::size_t>(i % (width / 2))]);
    };
    return turned(Expression(b, x),
                  angles_by(call, fmt::format("ESM's angles by {}", max_wavelength.value), length, width, angle));
  }

 private:
  bool use_rotary = true;
};

/// Normalizes the input of the attention and of the dense layers.
class ESMEncoder final : public RoformerBlock {
 public:
  ESMEncoder() : RoformerBlock("gelu") {}
  void build(Weights&, Call& call) override {
    make_parts(call, {"EsmSelfAttention",
                      {{"use_rotary", use_rotary}},
                      "LayerNormalization",
                      {{"epsilon", layer_norm_eps.value}},
                      "ffn_norm"});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("x");
    const TensorPtr x = sum(call, in, attended(call, apply(call, *attention_norm_, {dropped_out(call, in)})));
    const TensorPtr normal = apply(call, *feedforward_norm_, {dropped_out(call, x)});
    return sum(call, x, dropped_out(call, fed_forward(call, normal)));
  }

 protected:
  void own_fields(Fields& f) override {
    f("layer_norm_eps", layer_norm_eps);
    f("use_rotary", use_rotary);
  }

 private:
  Number layer_norm_eps = 1e-12;
  bool use_rotary = true;
};

class ESMBackbone : public TextBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_wavelength", max_wavelength);
    f("use_bias", use_bias);
    f("activation", activation);
    f("layer_norm_eps", layer_norm_eps);
    f("use_pre_layer_norm", use_pre_layer_norm);
    f("position_embedding_type", position_embedding_type);
    f("max_sequence_length", max_sequence_length);
    f("pad_token_id", pad_token_id);
  }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (hidden_dim % num_heads != 0)
      config["num_heads"].fail(
          fmt::format("{} features cannot be divided among {} heads", hidden_dim.value, num_heads.value));
    if (!rotary() && !max_sequence_length)
      config["max_sequence_length"].fail("expected an integer > 0 for absolute positions, got null");
  }
  void assemble() override {
    const Json initializer = normal_initializer("TruncatedNormal", 0.02);
    const TensorRef token_ids = tokens("token_ids");
    const TensorRef attention_mask = operation("NotEqual", Json::object(), {token_ids, pad_token_id});
    TensorRef x = call("Embedding", "token_embedding",
                       {{"input_dim", vocabulary_size.value},
                        {"output_dim", hidden_dim.value},
                        {"embeddings_initializer", initializer}},
                       {token_ids});
    if (!rotary()) {
      const TensorRef positions = call("PositionEmbedding", "position_embedding",
                                       {{"sequence_length", max_sequence_length->value}, {"initializer", initializer}},
                                       {x}, {{"start_index", pad_token_id}});
      x = call("Add", "embeddings_add", Json::object(), {Arg(ArgList{x, positions})});
    }
    // KerasHub creates the last norm first.
    Layer& output_norm = norm("output_layer_norm");
    if (use_pre_layer_norm) x = call(norm("emb_layer_norm"), {x});
    const Json block = {{"heads", num_heads.value},
                        {"head_size", hidden_dim / num_heads},
                        {"intermediate_size", intermediate_dim.value},
                        {"use_bias", use_bias},
                        {"max_wavelength", max_wavelength.value},
                        {"dropout", dropout.value},
                        {"activation", activation.json},
                        {"kernel_initializer", initializer},
                        {"layer_norm_eps", layer_norm_eps.value},
                        {"use_rotary", rotary()}};
    x = through_blocks(x, "ESMEncoder", "transformer_layer", [&](auto) { return block; },
                       {{"attention_mask", attention_mask}});
    set_inputs({token_ids});
    output_struct = call(output_norm, {x});
  }

 private:
  [[nodiscard]] bool rotary() const { return position_embedding_type.value == "rotary"; }
  Layer& norm(const char* called) { return layer("LayerNormalization", called, {{"epsilon", layer_norm_eps.value}}); }

  Positive num_heads;
  Number max_wavelength = 10000, layer_norm_eps = 1e-12;
  bool use_bias = true, use_pre_layer_norm = false;
  Activation activation = *Activation::named("gelu");
  Choice position_embedding_type{"rotary", {"rotary", "absolute"}};
  std::optional<Positive> max_sequence_length = Positive(1024);
  std::int64_t pad_token_id = 0;
};

class ESMProteinClassifier final : public DroppingClassifier {
 protected:
  [[nodiscard]] std::string_view kind() const override { return "ProteinClassifier"; }
};

/// The masked-language model of ESM, whose head has a kernel of its own for the logits.
class ESMMaskedPLM final : public MaskedLM {
 public:
  ESMMaskedPLM() : MaskedLM(kOnlyOutput) {}

 protected:
  [[nodiscard]] std::string_view kind() const override { return "MaskedPLM"; }
  [[nodiscard]] LogitsLayer logits_layer() override {
    LogitsLayer out = MaskedLM::logits_layer();
    out.arguments["intermediate_activation"] = backbone_value("activation");
    out.arguments["layer_norm_epsilon"] = backbone_value("layer_norm_eps");
    out.shares_embedding = false;
    return out;
  }
};

/// The class in transformers has only gelu and biases, and its token dropout scales the embeddings. KerasHub counts
/// absolute positions from another number.
void sizes(ConfigMap& map) {
  constexpr const char *kPositions = "position_embedding_type", *kWavelength = "max_wavelength";
  if (!map.reading() && (map.of_keras("activation") != "gelu" || map.of_keras("use_bias") != true ||
                         map.of_keras(kPositions) != "rotary"))
    throw bad_input("transformers computes an ESM as KerasHub does only with gelu, biases and rotary positions");
  map.same("vocabulary_size", "vocab_size");
  map.same("num_layers", "num_hidden_layers");
  map.same("num_heads", "num_attention_heads");
  map.same("hidden_dim", "hidden_size");
  map.same("intermediate_dim", "intermediate_size");
  map.same("dropout", "hidden_dropout_prob", 0.1);
  map.same(kPositions, kPositions, "absolute");
  if (map.reading() && map.result()[kPositions] == "absolute") {
    const auto found = map.find(kPositions);
    map.refuse(found ? *found : *map.find("model_type"), "absolute positions that begin behind the padding's id");
  }
  map.same("pad_token_id", "pad_token_id", 0);
  map.same("max_sequence_length", "max_position_embeddings", 1026);
  map.same("layer_norm_eps", "layer_norm_eps", 1e-12);
  map.same("use_pre_layer_norm", "emb_layer_norm_before", false);
  if (!map.reading() || map.as_keras_hub()) map.same(kWavelength, kWavelength, 10000);
  if (!map.as_keras_hub()) rope_theta(map, kWavelength, 10000);
  map.fixed("token_dropout", {false});
  if (!map.reading()) map.put("tie_word_embeddings", false);
}

constexpr std::array kLayers = {
    ClassInfo{.name = "EsmSelfAttention",
              .make = make_layer<EsmSelfAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.esm.esm_attention",
              .role = Role::attention},
    ClassInfo{.name = "ESMEncoder",
              .make = make_layer<ESMEncoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.esm.esm_encoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<ESMBackbone>("ESMBackbone", "keras_hub.src.models.esm.esm_backbone"),
    model_record<ESMProteinClassifier>("ESMProteinClassifier", "keras_hub.src.models.esm.esm_classifier"),
    model_record<ESMMaskedPLM>("ESMMaskedPLM", "keras_hub.src.models.esm.esm_masked_plm"),
};

constexpr std::array kHeads{Head{"ForSequenceClassification", "ProteinClassifier"}, Head{"ForMaskedLM", "MaskedPLM"}};
constexpr std::array kHuggingFace = {
    HuggingFaceModel{.model_type = "esm", .stem = "ESM", .architecture = "Esm", .sizes = sizes, .heads = kHeads},
};

using namespace weights::layouts;
using weights::NameRow;
using weights::NameTable;
constexpr std::array<NameRow, 32> kNames{{
    {"token_embedding/embeddings", "embeddings.word_embeddings.weight", kSame},
    {"position_embedding/embeddings", "embeddings.position_embeddings.weight", kSame},
    {"emb_layer_norm/gamma", "embeddings.layer_norm.weight", kSame},
    {"emb_layer_norm/beta", "embeddings.layer_norm.bias", kSame},
    {"transformer_layer_{}/attention_layer/q_dense_layer/kernel", "encoder.layer.{}.attention.self.query.weight",
     kLinear},
    {"transformer_layer_{}/attention_layer/q_dense_layer/bias", "encoder.layer.{}.attention.self.query.bias", kSame},
    {"transformer_layer_{}/attention_layer/k_dense_layer/kernel", "encoder.layer.{}.attention.self.key.weight",
     kLinear},
    {"transformer_layer_{}/attention_layer/k_dense_layer/bias", "encoder.layer.{}.attention.self.key.bias", kSame},
    {"transformer_layer_{}/attention_layer/v_dense_layer/kernel", "encoder.layer.{}.attention.self.value.weight",
     kLinear},
    {"transformer_layer_{}/attention_layer/v_dense_layer/bias", "encoder.layer.{}.attention.self.value.bias", kSame},
    {"transformer_layer_{}/attention_layer/o_dense_layer/kernel", "encoder.layer.{}.attention.output.dense.weight",
     kLinear},
    {"transformer_layer_{}/attention_layer/o_dense_layer/bias", "encoder.layer.{}.attention.output.dense.bias", kSame},
    {"transformer_layer_{}/attention_norm/gamma", "encoder.layer.{}.attention.LayerNorm.weight", kSame},
    {"transformer_layer_{}/attention_norm/beta", "encoder.layer.{}.attention.LayerNorm.bias", kSame},
    {"transformer_layer_{}/feedforward_intermediate_dense/kernel", "encoder.layer.{}.intermediate.dense.weight",
     kLinear},
    {"transformer_layer_{}/feedforward_intermediate_dense/bias", "encoder.layer.{}.intermediate.dense.bias", kSame},
    {"transformer_layer_{}/feedforward_output_dense/kernel", "encoder.layer.{}.output.dense.weight", kLinear},
    {"transformer_layer_{}/feedforward_output_dense/bias", "encoder.layer.{}.output.dense.bias", kSame},
    {"transformer_layer_{}/ffn_norm/gamma", "encoder.layer.{}.LayerNorm.weight", kSame},
    {"transformer_layer_{}/ffn_norm/beta", "encoder.layer.{}.LayerNorm.bias", kSame},
    {"output_layer_norm/gamma", "encoder.emb_layer_norm_after.weight", kSame},
    {"output_layer_norm/beta", "encoder.emb_layer_norm_after.bias", kSame},
    {"pooled_dense/kernel", "classifier.dense.weight", kLinear, true},
    {"pooled_dense/bias", "classifier.dense.bias", kSame, true},
    {"logits/kernel", "classifier.out_proj.weight", kLinear, true},
    {"logits/bias", "classifier.out_proj.bias", kSame, true},
    {"mlm_head/intermediate_dense/kernel", "lm_head.dense.weight", kLinear, true},
    {"mlm_head/intermediate_dense/bias", "lm_head.dense.bias", kSame, true},
    {"mlm_head/intermediate_layer_norm/gamma", "lm_head.layer_norm.weight", kSame, true},
    {"mlm_head/intermediate_layer_norm/beta", "lm_head.layer_norm.bias", kSame, true},
    // transformers does not save a kernel that is equal to the token embedding.
    {"mlm_head/output_kernel", "lm_head.decoder.weight", kLinear, true, 0, "esm.embeddings.word_embeddings.weight"},
    {"mlm_head/output_bias", "lm_head.bias", kSame, true},
}};
constexpr std::array kWeightNames = {
    NameTable{"ESMBackbone", "esm.", kNames},
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
constexpr std::array<std::string_view, 1> kMask{"<mask>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "ESMTokenizer",
               .kind = tokenizers::TokenizerKind::word_piece,
               .start = "<cls>",
               .end = "<eos>",
               .pad = kPadToken,
               .more = kMask,
               .unknown = "<unk>"},
};

constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "esm", .keras_class = "ESMTokenizer", .splits_tokens = true},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "esm",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .hugging_face = kHuggingFace,
                                       .weight_names = kWeightNames,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::esm
