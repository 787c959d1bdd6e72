// The vision encoders of PaliGemma and Gemma 3: patches, blocks, a norm (keras_hub/src/models/pali_gemma, gemma3).
//
// Letters: B batch, I images of an entry, P patches, D width.
#pragma once

#include <cstdint>
#include <string_view>

#include "classes/class_info.h"
#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {

/// The differences between the two.
struct GemmaVitKind {
  std::string_view embedding, attention, block;  ///< class names
  std::string_view store;  ///< prefix of the blocks in weight files; a number follows from the second block on
  bool several;            ///< whether the input is (B,I,H,W,3) instead of (B,H,W,3), and the layers write their ε
};

[[nodiscard]] LayerPtr make_gemma_vit_embedding();
[[nodiscard]] LayerPtr make_gemma_vit_attention();
[[nodiscard]] LayerPtr make_gemma_vit_block(const GemmaVitKind& kind);
[[nodiscard]] LayerPtr make_gemma_vit_encoder(const GemmaVitKind& kind);

/// The sizes of an encoder.
struct GemmaVitSizes {
  Positive image_size, patch_size, num_heads, hidden_dim, num_layers, intermediate_dim;

  /// Throws Error (bad_input). `prefix` is that of the keys in the config.
  void check(const Ref& config, std::string_view prefix, std::string_view size_key) const;
  [[nodiscard]] std::int64_t side() const { return image_size / patch_size; }
  /// Returns the arguments of an encoder layer.
  [[nodiscard]] Json arguments() const;
};

}  // namespace attn::keras
