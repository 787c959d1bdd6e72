// Texts with images between their tokens.
//
// Letters: B batch, T tokens, K rows of images, D width.
#pragma once

#include "attn/graph/graph.h"

namespace attn::keras {

/// Puts rows of images (B,K,D) into texts (B,T,D), at the positions `indices` (B,K). Position 0 stays a token, because
/// it also pads the indices. The last of several rows for one position counts.
[[nodiscard]] graph::ValueId interleaved(graph::Builder& b, graph::ValueId texts, graph::ValueId rows,
                                         graph::ValueId indices);

}  // namespace attn::keras
