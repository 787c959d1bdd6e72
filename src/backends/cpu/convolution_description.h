// Convolutions as oneDNN describes them, on channels-last arrays as they are.
#pragma once

#include <dnnl.hpp>

#include "attn/graph/op.h"

namespace attn::backends::cpu {

/// Some samples of a convolution of x (B, spatial…, C) by a kernel (window…, C/groups, F) to y (B, spatial…, F).
struct ConvDescription {
  ConvDescription(const graph::Conv& op, const Shape& x, const Shape& kernel, const Shape& y, Dim samples);

  dnnl::memory::desc source, target, plain_weights;
  dnnl::memory::desc weights;  ///< in the layout that oneDNN chooses
  dnnl::memory::dims strides, dilation, before, after;

  /// Of a convolution without a bias, as the gradients ask for it.
  [[nodiscard]] dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine,
                                                                  const dnnl::primitive_attr& attributes) const;
};

}  // namespace attn::backends::cpu
