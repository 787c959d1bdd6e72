// Tasks whose texts contain images of any size.
//
// Letters: B batch, T tokens, P patches of an image, K rows of all images, D width.
#pragma once

#include <optional>

#include "attn/graph/graph.h"
#include "attn/keras/image_prompt.h"
#include "classes/lowering.h"

namespace attn::keras {

/// Texts with images, as graph values.
struct SeenTexts {
  graph::ValueId token_ids = graph::kNone, padding_mask = graph::kNone;  ///< (B,T) int32
  /// The rows (K,D) of images, their positions (K) over the whole batch, and the positions (B,4,T) of all tokens by
  /// axes; kNone without images.
  graph::ValueId image_embeddings = graph::kNone, vision_indices = graph::kNone, position_ids = graph::kNone;
};

class SeesImages {
 public:
  virtual ~SeesImages() = default;
  /// Returns how prompts and images come together; empty if the model has no vision encoder.
  [[nodiscard]] virtual std::optional<ImagePrompt> image_prompt() const = 0;
  /// Returns the shape of a patch, and D. Called only if there is a vision encoder.
  [[nodiscard]] virtual Shape patch_shape() const = 0;
  [[nodiscard]] virtual Dim image_width() const = 0;
  /// Lowers the vision encoder for one image: its patches (P,…) → (K,D).
  [[nodiscard]] virtual graph::ValueId see(Lowering& lowering, graph::ValueId pixel_values, const PatchGrid& grid) = 0;
  /// Lowers texts with images to logits (B,T,V), as score() of KerasHub's task does.
  [[nodiscard]] virtual graph::ValueId score(Lowering& lowering, const SeenTexts& texts) = 0;
};

}  // namespace attn::keras
