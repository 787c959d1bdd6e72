// The common part of KerasHub's heads that give logits for the masked tokens of a sequence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "classes/composite.h"

namespace attn::keras {

/// A head may have the token embedding of a model in its config. In a model that contains the embedding, both are one
/// layer.
class MaskedHead : public Composite {
 public:
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] std::vector<Sublayer> sublayers() override;
  void share(const std::map<std::int64_t, Layer*>& members) override;
  /// In compute_output_shape the batch is that of the positions.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override;

 protected:
  void embedding_field(Fields& f);
  /// Takes the sizes from the embedding, if there is one, and compares them with `vocabulary_size`.
  void check_embedding(const Ref& config);
  /// The features at the masked positions.
  TensorPtr masked(Call& call);
  /// The logits of `x`, by the transposed table of the embedding.
  TensorPtr reversed(Call& call, const TensorPtr& x) { return apply(call, *embedding_, {x}, {{"reverse", true}}); }

  std::optional<Positive> vocabulary_size;
  LayerPtr token_embedding;  ///< in the config
  std::int64_t features_ = 0;

 private:
  Layer* embedding_ = nullptr;  // itself, or the member of the model that replaces it
  LayerPtr take_;
};

}  // namespace attn::keras
