// How the same numbers lie in Hugging Face's arrays and in Keras's.
#pragma once

#include <cstdint>
#include <span>

#include "attn/base/tensor.h"

namespace attn::weights {

struct Layout {
  enum class Order : std::uint8_t {
    same,         ///< as it is
    in_front,     ///< with an axis of 1 in front
    flat,         ///< a vector, or the matrix (in, out) of GPT-2's Conv1D, where Keras has axes of heads
    transposed,   ///< torch.nn.Linear's (out, in), where Keras has (in, out) with axes of heads
    by_head,      ///< torch.nn.Linear's (heads·size, in), where Keras has (heads, in, size)
    convolution,  ///< (out, in, height, width), where Keras has (height, width, in, out)
  };
  Order order = Order::same;
  /// How many of Keras's axes are `in`; of flat, 0 makes a vector.
  int inputs = 1;
  /// Of arrays with several of Keras's: each head, Keras's axis behind `in`, has its own of each one behind another.
  bool by_parts_of_heads = false;
};

/// The shape of Hugging Face's array for one of Keras's.
[[nodiscard]] Shape hugging_face_shape(const Layout& layout, const Shape& keras);
/// Hugging Face's array for one of Keras's, seen so that several of them lie one behind another along one axis.
struct Joining {
  Shape seen;
  int axis = 0;
};
[[nodiscard]] Joining joining(const Layout& layout, const Shape& keras);

/// Keras's array of shape `keras` out of Hugging Face's, which it may share its bytes with.
[[nodiscard]] Tensor to_keras(const Tensor& array, const Layout& layout, const Shape& keras);
/// Hugging Face's array out of Keras's.
[[nodiscard]] Tensor to_hugging_face(const Tensor& weight, const Layout& layout);

/// Elements [first, last) of an axis. Of axis 0 the bytes are shared.
[[nodiscard]] Tensor slice(const Tensor& array, int axis, Dim first, Dim last);
/// Arrays one behind another along an axis.
[[nodiscard]] Tensor joined(std::span<const Tensor> parts, int axis);

}  // namespace attn::weights
