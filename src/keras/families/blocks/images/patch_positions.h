// The positions of patches in images of different sizes.
//
// Letters: N images, P patches.
#pragma once

#include "attn/graph/graph.h"
#include "classes/call.h"

namespace attn::keras {

struct PatchPositions {
  graph::ValueId x, y;   ///< (N,P) int32: column and row; -1 for padding
  graph::ValueId shown;  ///< (N,P) bool: false for padding
};

/// Returns the parts of positions (N,P,2), which all layers share. Not for symbolic shapes.
[[nodiscard]] PatchPositions patch_positions(Call& call, graph::ValueId positions);

}  // namespace attn::keras
