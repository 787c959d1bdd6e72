// Conversion between Hugging Face's and Keras's array layouts.
#pragma once

#include <cstdint>
#include <span>

#include "attn/base/tensor.h"

namespace attn::weights {

struct Layout {
  enum class Order : std::uint8_t {
    same,         ///< unchanged
    in_front,     ///< with a leading axis of 1
    flat,         ///< a vector, or the matrix (in, out) of GPT-2's Conv1D; Keras has axes of heads
    transposed,   ///< torch.nn.Linear's (out, in); Keras has (in, out) with axes of heads
    by_head,      ///< torch.nn.Linear's (heads·size, in); Keras has (heads, in, size)
    convolution,  ///< (out, in, height, width); Keras has (height, width, in, out)
  };
  Order order = Order::same;
  /// Number of Keras's axes that are `in`; with `flat`, 0 makes a vector.
  int inputs = 1;
  /// For an array that joins several of Keras's: the weights alternate for each head (Keras's axis after `in`) instead
  /// of following each other as a whole.
  bool by_parts_of_heads = false;
};

/// The shape of Hugging Face's array for a Keras array.
[[nodiscard]] Shape hugging_face_shape(const Layout& layout, const Shape& keras);
/// A view of Hugging Face's array in which several Keras arrays are concatenated along one axis.
struct Joining {
  Shape seen;
  int axis = 0;
};
[[nodiscard]] Joining joining(const Layout& layout, const Shape& keras);

/// Converts Hugging Face's array to a Keras array of shape `keras`; the result may share its memory.
[[nodiscard]] Tensor to_keras(const Tensor& array, const Layout& layout, const Shape& keras);
/// Converts a Keras array to Hugging Face's.
[[nodiscard]] Tensor to_hugging_face(const Tensor& weight, const Layout& layout);

/// Elements [first, last) of an axis. A slice of axis 0 shares the memory.
[[nodiscard]] Tensor slice(const Tensor& array, int axis, Dim first, Dim last);
/// Concatenates arrays along an axis.
[[nodiscard]] Tensor joined(std::span<const Tensor> parts, int axis);

}  // namespace attn::weights
