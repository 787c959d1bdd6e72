// Attention masks of sequences of texts and images.
//
// Letters: B batch, T length, S cache positions.
#pragma once

#include <optional>

#include "attn/graph/graph.h"

namespace attn::keras {

/// Returns PaliGemma's mask (B,T,T) bool of whole sequences. Images and prompts see each other in both directions, and
/// a response sees what comes before it. `padding` and `response` (B,L) are for the last L positions; the other ones
/// are an image's.
[[nodiscard]] graph::ValueId prompt_mask(graph::Builder& b, graph::ValueId padding,
                                         std::optional<graph::ValueId> response, Dim length);

/// Returns the mask (B,T,T) bool of Gemma 3 and 4: each position sees those before it, with a window the last `window`
/// positions, and an image's positions see each other. `vision` (B,T) is not 0 at the positions of images.
[[nodiscard]] graph::ValueId image_mask(graph::Builder& b, graph::ValueId vision, std::optional<Dim> window = {});

/// Appends keys that no query sees: (B,T,T) → (B,T,S).
[[nodiscard]] graph::ValueId widened(graph::Builder& b, graph::ValueId mask, Dim keys);

}  // namespace attn::keras
