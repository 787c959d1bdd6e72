// A weight of KerasHub's models, and its array in a file of Hugging Face's.
#pragma once

#include <string_view>

#include "attn/base/shape.h"
#include "hugging_face/layout.h"

namespace attn::weights {

// The layouts that the tables name.
inline constexpr Layout kSame{Layout::Order::same}, kLinear{Layout::Order::transposed, 1},
    kFromHeads{Layout::Order::transposed, 2}, kVector{Layout::Order::flat, 0}, kConv1d{Layout::Order::flat, 1},
    kConv1dFromHeads{Layout::Order::flat, 2}, kByHead{Layout::Order::by_head}, kConvolution{Layout::Order::convolution},
    kInFront{Layout::Order::in_front}, kLinearByHead{Layout::Order::transposed, 1, true},
    kVectorByHead{Layout::Order::flat, 0, true};

/// A weight of a model by its path, and its array; without one no file has it, and it is what it is initialized to.
/// "{}" stands for the number of a block, "{expert}" for that of an expert, whose arrays are stacked in Keras. Rows of
/// the same array are its parts, in their order. Of weights that share a path "#0" is the first, "#1" the next.
struct NameRow {
  std::string_view keras, hugging_face;
  Layout layout;
  bool of_head = false;             ///< it is of a task, and its name has no prefix
  Dim skipped = 0;                  ///< rows at the array's beginning that Keras lacks
  std::string_view otherwise = "";  ///< the array that it is where a file lacks its own
};

}  // namespace attn::weights
