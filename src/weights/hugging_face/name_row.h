// Pairs of a KerasHub weight and a Hugging Face array.
#pragma once

#include <string_view>

#include "attn/base/shape.h"
#include "hugging_face/layout.h"

namespace attn::weights {

// Short names for the layouts in the tables.
inline constexpr Layout kSame{Layout::Order::same}, kLinear{Layout::Order::transposed, 1},
    kFromHeads{Layout::Order::transposed, 2}, kVector{Layout::Order::flat, 0}, kConv1d{Layout::Order::flat, 1},
    kConv1dFromHeads{Layout::Order::flat, 2}, kByHead{Layout::Order::by_head}, kConvolution{Layout::Order::convolution},
    kInFront{Layout::Order::in_front}, kLinearByHead{Layout::Order::transposed, 1, true},
    kVectorByHead{Layout::Order::flat, 0, true};

/// A KerasHub weight, by its path, and the name of its array. If the name is empty, no file has it, and it keeps its
/// initial value. "{}" stands for the number of a block; "{expert}" for that of an expert, whose arrays are stacked in
/// Keras. Rows of the same array are its parts, in order. If weights share a path, "#0" is the first, "#1" the next.
struct NameRow {
  std::string_view keras, hugging_face;
  Layout layout;
  bool of_head = false;             ///< belongs to a task, so its name has no prefix
  Dim skipped = 0;                  ///< leading rows of the array that Keras does not have
  std::string_view otherwise = "";  ///< the array that is used instead if a file does not have it
};

}  // namespace attn::weights
