// Text encoder backbones: BERT, ALBERT, DistilBERT and RoBERTa.
#include <array>

#include "attn/base/size.h"
#include "classes/composite.h"
#include "model/backbones/text.h"

namespace attn::keras {
namespace {

/// The common part of BERT and ALBERT: three embeddings; outputs are the sequence and its pooled first token.
class SegmentedBackbone : public HeadedBackbone {
 protected:
  [[nodiscard]] static Json initializer() { return normal_initializer("TruncatedNormal", 0.02); }

  /// The sum of token, position and segment embeddings with `width` features, normalized.
  TensorRef embedded(std::int64_t width) {
    token_ids_ = tokens("token_ids");
    segment_ids_ = tokens("segment_ids");
    padding_mask_ = tokens("padding_mask");
    const TensorRef rows =
        call("ReversibleEmbedding", "token_embedding",
             {{"input_dim", vocabulary_size.value}, {"output_dim", width}, {"embeddings_initializer", initializer()}},
             {token_ids_});
    const TensorRef positions =
        call("PositionEmbedding", "position_embedding",
             {{"sequence_length", max_sequence_length.value}, {"initializer", initializer()}}, {rows});
    const TensorRef segments =
        call("Embedding", "segment_embedding",
             {{"input_dim", num_segments.value}, {"output_dim", width}, {"embeddings_initializer", initializer()}},
             {segment_ids_});
    // One argument that is a list: with only braces, some compilers would pass its elements.
    const TensorRef x = call("Add", "embeddings_add", Json::object(), {Arg(ArgList{rows, positions, segments})});
    return embeddings_dropout(layer_norm("embeddings_layer_norm", x, 1e-12));
  }
  Layer& block(const std::string& called) {
    return layer("TransformerEncoder", called,
                 {{"num_heads", num_heads.value},
                  {"intermediate_dim", intermediate_dim.value},
                  {"activation", activation ? activation->json : gelu_approximate()},
                  {"dropout", dropout.value},
                  {"layer_norm_epsilon", 1e-12},
                  {"kernel_initializer", initializer()}});
  }
  TensorRef encoded(Layer& encoder, const TensorRef& x) {
    return call(encoder, {x}, {{"padding_mask", padding_mask_}});
  }
  void finish(const TensorRef& sequence) {
    const TensorRef pooled =
        call("Dense", "pooled_dense",
             {{"units", hidden_dim.value}, {"kernel_initializer", initializer()}, {"activation", "tanh"}},
             {first_token(sequence)});
    set_inputs({token_ids_, segment_ids_, padding_mask_});
    output_struct = ArgDict{{"sequence_output", sequence}, {"pooled_output", pooled}};
  }

  Positive num_segments = 2;
  std::optional<Activation> activation;  // if it differs from KerasHub's
  TensorRef token_ids_, segment_ids_, padding_mask_;
};

class BertBackbone : public SegmentedBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_sequence_length", max_sequence_length);
    f("num_segments", num_segments);
    // KerasHub has only tanh-approximated gelu; Hugging Face's BERT has the exact one.
    if (f.reading() || activation) f("activation", activation);
  }

 protected:
  void assemble() override {
    TensorRef x = embedded(hidden_dim);
    for (std::int64_t i = 0; i < num_layers; ++i) x = encoded(block(fmt::format("transformer_layer_{}", i)), x);
    finish(x);
  }
};

/// Has factorized embeddings, and blocks that are called several times.
class AlbertBackbone : public SegmentedBackbone {
 public:
  AlbertBackbone() { dropout = 0.0; }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f("num_groups", num_groups);
    f("num_inner_repetitions", num_inner_repetitions);
    f.required("embedding_dim", embedding_dim);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("max_sequence_length", max_sequence_length);
    f("num_segments", num_segments);
  }

 protected:
  void check_fields(const Ref& config) override {
    HeadedBackbone::check_fields(config);
    if (num_layers % num_groups != 0)
      config["num_groups"].fail(
          fmt::format("{} layers cannot be divided into {} groups", num_layers.value, num_groups.value));
    const auto calls = checked_mul(num_layers, num_inner_repetitions);
    if (!calls || *calls > kMaxBlocks)
      config["num_inner_repetitions"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  }

  void assemble() override {
    TensorRef x = embedded(embedding_dim);
    x = call("Dense", "embedding_projection", {{"units", hidden_dim.value}, {"kernel_initializer", initializer()}},
             {x});
    for (std::int64_t group = 0; group < num_groups; ++group) {
      std::vector<Layer*> blocks;
      for (std::int64_t i = 0; i < num_inner_repetitions; ++i)
        blocks.push_back(&block(fmt::format("group_{}_inner_layer_{}", group, i)));
      for (std::int64_t time = 0; time < num_layers / num_groups; ++time)
        for (Layer* block : blocks) x = encoded(*block, x);
    }
    finish(x);
  }

 private:
  Positive embedding_dim, num_groups = 1, num_inner_repetitions = 1;
};

/// DistilBERT and RoBERTa, which differ in a name and an epsilon.
class UnsegmentedBackbone : public HeadedBackbone {
 protected:
  UnsegmentedBackbone(const char* embeddings, double epsilon) : embeddings_(embeddings), epsilon_(epsilon) {}

  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const Json initializer = normal_initializer("TruncatedNormal", 0.02);
    TensorRef x = call("TokenAndPositionEmbedding", embeddings_,
                       {{"vocabulary_size", vocabulary_size.value},
                        {"sequence_length", max_sequence_length.value},
                        {"embedding_dim", hidden_dim.value},
                        {"embeddings_initializer", initializer}},
                       {token_ids});
    x = embeddings_dropout(layer_norm("embeddings_layer_norm", x, epsilon_));
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call("TransformerEncoder", fmt::format("transformer_layer_{}", i),
               {{"num_heads", num_heads.value},
                {"intermediate_dim", intermediate_dim.value},
                {"activation", "gelu"},
                {"dropout", dropout.value},
                {"layer_norm_epsilon", epsilon_},
                {"kernel_initializer", initializer}},
               {x}, {{"padding_mask", padding_mask}});
    set_inputs({token_ids, padding_mask});
    output_struct = x;
  }

 private:
  const char* embeddings_;
  double epsilon_;
};

class DistilBertBackbone : public UnsegmentedBackbone {
 public:
  DistilBertBackbone() : UnsegmentedBackbone("token_and_position_embedding", 1e-12) {}
};

class RobertaBackbone : public UnsegmentedBackbone {
 public:
  RobertaBackbone() : UnsegmentedBackbone("embeddings", 1e-5) {}
};

}  // namespace

Family encoder_backbones() {
  static constexpr std::array kRows = {
      ClassInfo{.name = "BertBackbone",
                .make = make_layer<BertBackbone>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.bert.bert_backbone",
                .role = Role::model,
                .package = "keras_hub"},
      ClassInfo{.name = "AlbertBackbone",
                .make = make_layer<AlbertBackbone>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.albert.albert_backbone",
                .role = Role::model,
                .package = "keras_hub"},
      ClassInfo{.name = "DistilBertBackbone",
                .make = make_layer<DistilBertBackbone>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.distil_bert.distil_bert_backbone",
                .role = Role::model,
                .package = "keras_hub"},
      ClassInfo{.name = "RobertaBackbone",
                .make = make_layer<RobertaBackbone>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.roberta.roberta_backbone",
                .role = Role::model,
                .package = "keras_hub"},
      ClassInfo{.name = "XLMRobertaBackbone",
                .make = make_layer<RobertaBackbone>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.xlm_roberta.xlm_roberta_backbone",
                .role = Role::model,
                .package = "keras_hub"},
  };
  return kRows;
}

}  // namespace attn::keras
