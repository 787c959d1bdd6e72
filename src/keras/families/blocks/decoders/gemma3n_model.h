// The text model of Gemma 3n.
//
// Letters: B batch, T tokens, L layers, S streams, D width, P features of the input for each layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "classes/composite.h"
#include "classes/ops/expression.h"

namespace attn::keras {

/// All blocks of Gemma 3n, between a projection of the tokens to several streams and the mean of the streams. Its
/// embeddings are layers of it, but Gemma3nProcessor calls them.
class Gemma3nTextModel final : public Composite {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

  /// Creates the layers, if they do not exist.
  void make_layers();
  /// Returns the rows (B,T,D) of tokens (B,T).
  [[nodiscard]] TensorPtr embedded(Call& call, const TensorPtr& token_ids);
  /// Returns the inputs (B,T,L,P) of all layers: the mean, but for √2, of rows of a second embedding and of a
  /// projection of the tokens' rows (B,T,D).
  [[nodiscard]] TensorPtr layer_inputs(Call& call, const TensorPtr& token_ids, const TensorPtr& rows);
  /// Returns the embedding layer of tokens, whose variable also gives the logits.
  [[nodiscard]] Layer& token_embedding();

 private:
  void make_blocks();
  /// Returns x (B,T,D) with the magnitude of `like`.
  static Expression scaled_like(const Expression& x, const Expression& like);
  [[nodiscard]] bool is_shared(std::int64_t i) const;

  Opaque pad_token_id, rope_scaling, max_position_embeddings, final_logit_soft_cap;
  Positive vocab_size, hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim,
      sliding_window, altup_num_inputs, laurel_rank, hidden_size_per_layer_input, vocab_size_per_layer_input;
  Number rms_norm_eps, attention_dropout, rope_theta, rope_local_base_freq;
  std::vector<std::string> layer_types;
  std::vector<Positive> intermediate_size;
  std::optional<std::vector<Number>> activation_sparsity_pattern;
  std::string hidden_activation;
  std::optional<Number> altup_coef_clip;
  std::int64_t altup_active_idx = 0, num_kv_shared_layers = 0;
  bool attention_bias = false, altup_correct_scale = true;

  Layer *embed_tokens_ = nullptr, *norm_ = nullptr, *embed_per_layer_ = nullptr, *projection_ = nullptr,
        *projection_norm_ = nullptr;
  std::vector<Layer*> blocks_, entries_, exits_;
};

}  // namespace attn::keras
