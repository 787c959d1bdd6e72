// Gemma 4's vision encoder (keras_hub/src/models/gemma4/gemma4_vision_encoder.py).
//
// Letters: B batch, I images of an entry, P patches of an image, F numbers of a patch, D width.
#pragma once

#include <cstdint>

#include "model/backbones/backbone.h"

namespace attn::keras {

/// Patches (B,I,P,F) with their positions (B,I,P,2) → rows that replace the placeholders of a text
/// (B,I,P/pool_size²,D). Images have any height and width; padding has the position (-1,-1).
class Gemma4VisionEncoder final : public Backbone {
 public:
  /// KerasHub writes only the fields, neither a name nor a dtype.
  void config(Fields& f) override { fields(f); }
  void fields(Fields& f) override;
  /// Returns F.
  [[nodiscard]] std::int64_t patch_numbers() const { return 3 * patch_size * patch_size; }
  /// Returns the number of patches of a square image.
  [[nodiscard]] std::int64_t patches() const { return side() * side(); }
  /// Returns the number of rows of `patches` patches.
  [[nodiscard]] std::int64_t rows(std::int64_t patches) const { return patches / patches_per_row(); }
  [[nodiscard]] std::int64_t patches_per_row() const { return pool_size * pool_size; }
  /// Returns KerasHub's `num_vision_tokens_per_image`.
  [[nodiscard]] std::int64_t image_tokens() const { return (side() / pool_size) * (side() / pool_size); }
  [[nodiscard]] std::int64_t features() const { return output_dim; }
  /// Returns the number of columns of patches that have positions, and that of rows.
  [[nodiscard]] std::int64_t positions() const { return position_embedding_size; }

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  [[nodiscard]] std::int64_t side() const { return image_size / patch_size; }

  Positive image_size, patch_size, num_heads, hidden_dim, num_layers, intermediate_dim, head_dim, output_dim,
      pool_size = 3, position_embedding_size = 1024;
  std::optional<Positive> num_key_value_heads;
  Number rope_max_wavelength{100.0}, layer_norm_epsilon{1e-6}, dropout{0};
  bool use_clipped_linears = true, standardize = false;
};

[[nodiscard]] LayerPtr make_gemma4_patch_embedder();
[[nodiscard]] LayerPtr make_gemma4_vision_stack();
[[nodiscard]] LayerPtr make_gemma4_vision_pooling();
[[nodiscard]] LayerPtr make_gemma4_vision_output();
[[nodiscard]] LayerPtr make_gemma4_interleave();

}  // namespace attn::keras
