// Text encoder backbones of several families.
#pragma once

#include <optional>
#include <string>

#include "classes/composite.h"
#include "model/backbones/text.h"

namespace attn::keras {

/// The common part of BERT and ALBERT: three embeddings; outputs are the sequence and its pooled first token.
class SegmentedBackbone : public HeadedBackbone {
 protected:
  [[nodiscard]] static Json initializer() { return normal_initializer("TruncatedNormal", 0.02); }

  /// Returns the sum of token, position and segment embeddings with `width` features, normalized.
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
  std::optional<Activation> activation;  // only if the activation differs from KerasHub's
  TensorRef token_ids_, segment_ids_, padding_mask_;
};

/// The backbone of DistilBERT and RoBERTa, which differ in a name and an epsilon.
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

}  // namespace attn::keras
