// Conversion between Hugging Face's and Keras's array layouts.
#pragma once

#include <span>

#include "attn/base/tensor.h"
#include "attn/weights/name_table.h"

namespace attn::weights {

/// Returns the shape of Hugging Face's array for a Keras array.
[[nodiscard]] Shape hugging_face_shape(const Layout& layout, const Shape& keras);
/// A shape in which Hugging Face's array can be viewed so that several Keras arrays are concatenated along one axis.
struct Joining {
  Shape seen;
  int axis = 0;
};
[[nodiscard]] Joining joining(const Layout& layout, const Shape& keras);

/// Converts Hugging Face's array to a Keras array of shape `keras`; the result may share its memory.
[[nodiscard]] Tensor to_keras(const Tensor& array, const Layout& layout, const Shape& keras);
/// Converts a Keras array to Hugging Face's.
[[nodiscard]] Tensor to_hugging_face(const Tensor& weight, const Layout& layout);

/// Returns elements [first, last) of an axis. A slice of axis 0 shares the memory.
[[nodiscard]] Tensor slice(const Tensor& array, int axis, Dim first, Dim last);
/// Concatenates arrays along an axis.
[[nodiscard]] Tensor joined(std::span<const Tensor> parts, int axis);

}  // namespace attn::weights
