// The common part of the backbones and tasks of T5Gemma and T5Gemma 2 (keras_hub/src/models/t5gemma, t5gemma2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/blocks/t5gemma_layers.h"
#include "model/backbones/text.h"
#include "model/tasks/seq_2_seq_lm.h"

namespace attn::keras {

/// An encoder and a decoder whose sizes may differ.
class T5GemmaFamilyBackbone : public TextBackbone {
 public:
  explicit T5GemmaFamilyBackbone(T5GemmaGeneration generation) : generation_(generation) {}

  void fields(Fields& f) override;

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  /// The sizes of the encoder or the decoder.
  struct Side {
    std::string_view called;
    Positive hidden_dim, intermediate_dim, num_layers, num_attention_heads, num_key_value_heads, head_dim;
    std::vector<std::string> layer_types;
  };

  [[nodiscard]] bool is_second() const { return generation_ == T5GemmaGeneration::second; }
  void side_fields(Fields& f, Side& side);
  void check_side(const Ref& config, const Side& side);
  /// The arguments of layer `i`.
  [[nodiscard]] Json block(const Side& side, std::int64_t i) const;
  /// The embeddings of `tokens`, multiplied by the root of their width.
  TensorRef embedded(Layer& embedding, const Side& side, const TensorRef& tokens);

  T5GemmaGeneration generation_;
  Side encoder_{"encoder", {}, {}, {}, {}, {}, {}, {}}, decoder_{"decoder", {}, {}, {}, {}, {}, {}, {}};
  Number rms_norm_eps{1e-6}, query_pre_attn_scalar{1.0}, initializer_range{0.02}, attention_dropout{0.0},
      rope_max_wavelength{10000.0}, global_rope_scaling_factor{1.0};
  bool tie_word_embeddings = true, attention_bias = false, use_query_key_norm = true;
  std::string hidden_activation = "gelu_approximate";
  std::optional<Positive> sliding_window, cross_attention_hidden_size;
  std::optional<Number> attn_logit_softcapping, final_logit_softcapping, encoder_rope_max_wavelength,
      encoder_global_rope_scaling_factor;
  std::int64_t eoi_token_index = 256000;
};

class T5GemmaFamilySeq2SeqLM final : public Seq2SeqLM {
 protected:
  [[nodiscard]] std::string_view embedding_name() const override { return "decoder_token_embedding"; }
  [[nodiscard]] std::optional<Packing> packing() const override;
  [[nodiscard]] std::optional<double> logits_cap() override;
  TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) override;
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& mask) override;

 private:
  TensorPtr embedded(Lowering& lowering, const std::string& side, const TensorPtr& tokens);
};

}  // namespace attn::keras
