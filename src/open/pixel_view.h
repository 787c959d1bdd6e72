// The pixels of an image in the order in which a graph reads them.
#pragma once

#include <array>
#include <cstdint>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::open {

/// A selection of pixels (height, width, 3) in any order of the axes. Large images are in memory as numbers only once,
/// because the view does what a graph would do in copies.
class PixelView {
 public:
  /// Creates a view of the pixels that a graph reads as its input, (1, height, width, 3) or (1, 3, height, width).
  /// Nodes at the beginning of the graph that only select, transpose or cast them are removed: the view does that, and
  /// the input has the shape and the dtype of their result.
  PixelView(Dim height, Dim width, bool channels_first, graph::Graph& graph);

  /// Copies pixels (height, width, 3) uint8 to the input of the graph.
  void copy(const Tensor& pixels, const Tensor& input) const;

 private:
  /// Changes the view as the operation would change an array. Returns false if no view has its result.
  [[nodiscard]] bool apply(const graph::Op& op);

  static constexpr int kRank = 4;
  Shape shape_;
  std::array<std::int64_t, kRank> strides_{};
  std::int64_t first_ = 0;  ///< index of the first element among the pixels
};

}  // namespace attn::open
