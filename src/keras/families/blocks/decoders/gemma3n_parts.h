// The parts of Gemma 3n's blocks besides attention.
//
// Letters: B batch, T tokens, S streams, D width.
#pragma once

#include <cstdint>

#include "classes/composite.h"
#include "classes/ops/expression.h"

namespace attn::keras {

/// Returns the activation with a name of Keras, or KerasHub's "gelu_approximate"; empty if unknown.
[[nodiscard]] std::optional<Activation> gemma3n_activation(const std::string& name);

/// Returns entries `from` to `to` of axis 2 of x.
[[nodiscard]] Expression streams(const Expression& x, Dim from, Dim to);

/// Alternating updates (Baykal et al., "Alternating Updates for Efficient Transformers", 2023): of S streams, a block
/// computes one. The others are predicted before it, and corrected after it. Streams are (B,T,S,D) here; KerasHub has
/// them in front.
class Gemma3nTextAltUp final : public Composite {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  void build(Weights& w, Call& call) override;
  /// With one argument predicts the streams. With the argument `activated` (B,T,1,D), the result of the block, corrects
  /// predicted streams.
  Arg call(Call& call) override;
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  /// Returns the active stream times a variable, if it has one: (B,T,1,D).
  [[nodiscard]] Expression scaled(Call& call, const Expression& active) const;

 private:
  Expression modalities(Call& call, const Expression& active);

  Positive hidden_size, altup_num_inputs;
  std::optional<Number> altup_coef_clip;
  std::int64_t altup_active_idx = 0;
  Number rms_norm_eps{1e-6};
  bool altup_correct_scale = true;
  int scale_ = 0;
  Layer* correction_ = nullptr;
  Layer* prediction_ = nullptr;
  Layer* router_ = nullptr;
  Layer* norm_ = nullptr;
};

[[nodiscard]] LayerPtr make_gemma3n_embedding();
[[nodiscard]] LayerPtr make_gemma3n_mlp();
[[nodiscard]] LayerPtr make_gemma3n_laurel();

}  // namespace attn::keras
