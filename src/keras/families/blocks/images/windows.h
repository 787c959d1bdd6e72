// Square windows of images.
//
// Letters: B batch, H height, W width, D features, V windows of an image, S side of a window.
#pragma once

#include <utility>

#include "attn/graph/graph.h"

namespace attn::keras {

/// The windows of images of one size. Zeros fill up the last windows of each side.
struct WindowGrid {
  Dim height, width, side;

  [[nodiscard]] Dim rows() const { return (height + side - 1) / side; }
  [[nodiscard]] Dim columns() const { return (width + side - 1) / side; }
  [[nodiscard]] Dim count() const { return rows() * columns(); }
  /// Returns row and column of the i-th cell of all windows, which may be outside of the image.
  [[nodiscard]] std::pair<Dim, Dim> cell(Dim i) const {
    const Dim window = i / (side * side), at = i % (side * side);
    return {window / columns() * side + at / side, window % columns() * side + at % side};
  }

  /// (B,H,W,D) → (B·V,S,S,D).
  [[nodiscard]] graph::ValueId windows_of(graph::Builder& b, graph::ValueId x) const {
    const Shape shape = b.shape(x);
    const Dim below = rows() * side - height, right = columns() * side - width;
    if (below > 0 || right > 0)
      x = b.apply(graph::Pad{graph::PadMode::constant, {0, 0, 0, 0}, {0, below, right, 0}}, {x});
    const graph::ValueId parts = b.reshape(x, {shape[0], rows(), side, columns(), side, shape[3]});
    const Dim all = shape[0] == kUnknown ? kUnknown : shape[0] * count();
    return b.reshape(b.transpose(parts, {0, 1, 3, 2, 4, 5}), {all, side, side, shape[3]});
  }
  /// (B·V,S,S,D) → (B,H,W,D), with the zeros that fill up the last windows.
  [[nodiscard]] graph::ValueId filled_image_of(graph::Builder& b, graph::ValueId windows) const {
    const Shape shape = b.shape(windows);
    const Dim batch = shape[0] == kUnknown ? kUnknown : shape[0] / count();
    const graph::ValueId parts = b.reshape(windows, {batch, rows(), columns(), side, side, shape[3]});
    return b.reshape(b.transpose(parts, {0, 1, 3, 2, 4, 5}), {batch, rows() * side, columns() * side, shape[3]});
  }
  /// Removes the rows and columns behind those of the image.
  [[nodiscard]] graph::ValueId cropped(graph::Builder& b, graph::ValueId image) const {
    if (rows() * side == height && columns() * side == width) return image;
    graph::Slice inner;
    inner.ranges = {{}, {0, height, 1}, {0, width, 1}, {}};
    return b.apply(inner, {image});
  }
};

}  // namespace attn::keras
