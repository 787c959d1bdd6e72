// The places of patches in images of different sizes.
//
// Letters: P patches of all images, I images.
#pragma once

#include "classes/ops/expression.h"

namespace attn::keras {

/// Integers (P,1) for each patch.
struct PatchPlaces {
  Expression row, column;    ///< in the frame
  Expression rows, columns;  ///< the size of the frame
  Expression frame;          ///< the number of the frame, over all images
};

/// Returns the places of `patches` patches. `grids` (I,3) int32 are the frames, rows and columns of each image. The
/// patches of a frame are squares of merge × merge, row by row. Grids of another number of patches, negative ones, and
/// frames that cannot be divided into squares make an index that is outside the grids, which is an error of the run.
[[nodiscard]] PatchPlaces patch_places(graph::Builder& b, graph::ValueId grids, Dim patches, Dim merge);

}  // namespace attn::keras
