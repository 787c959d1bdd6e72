// oneDNN's descriptions of convolutions on channels-last arrays.
#pragma once

#include <dnnl.hpp>

#include "attn/graph/op.h"

namespace attn::backends::cpu {

/// Describes a convolution of `samples` samples of x (B, spatial…, C) by (window…, C/groups, F) to y (B, spatial…, F).
struct ConvDescription {
  ConvDescription(const graph::Conv& op, const Shape& x, const Shape& kernel, const Shape& y, Dim samples);

  dnnl::memory::desc source, target, plain_weights;
  dnnl::memory::desc weights;  ///< weights in the layout that oneDNN selects
  dnnl::memory::dims strides, dilation, before, after;

  /// Returns the convolution without a bias, which gradients need as a hint.
  [[nodiscard]] dnnl::convolution_forward::primitive_desc forward(const dnnl::engine& engine,
                                                                  const dnnl::primitive_attr& attributes) const;
};

}  // namespace attn::backends::cpu
