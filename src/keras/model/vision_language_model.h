// Tasks without a KV cache, whose texts contain images of any size.
//
// Letters: B batch, T tokens, P patches of an image, K rows of all images, D width.
#pragma once

#include "attn/graph/graph.h"
#include "classes/lowering.h"
#include "model/multimodal.h"

namespace attn::keras {

/// Texts with images, as graph values.
struct ScoreInputs {
  graph::ValueId token_ids = graph::kNone, padding_mask = graph::kNone;  ///< (B,T) int32
  /// The rows (K,D) of images, their positions (K) over the whole batch, and the positions (B,4,T) of all tokens by
  /// axes; kNone without images.
  graph::ValueId image_embeddings = graph::kNone, vision_indices = graph::kNone, position_ids = graph::kNone;
};

class VisionLanguageModel : public Multimodal {
 public:
  /// Returns D. Called only if there is a vision encoder.
  [[nodiscard]] virtual Dim image_width() const = 0;
  /// Lowers the vision encoder for one image: its patches (P,…) → (K,D).
  [[nodiscard]] virtual graph::ValueId encode_image(Lowering& lowering, graph::ValueId pixel_values,
                                                    const PatchGrid& grid) = 0;
  /// Lowers texts with images to logits (B,T,V), as score() of KerasHub's task does.
  [[nodiscard]] virtual graph::ValueId score(Lowering& lowering, const ScoreInputs& texts) = 0;
};

}  // namespace attn::keras
