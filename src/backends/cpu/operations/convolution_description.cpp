#include "convolution_description.h"

#include <algorithm>

#include "attn/graph/window.h"

namespace attn::backends::cpu {
namespace {

using dnnl::memory;

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

/// Describes an array (B, spatial…, C) in oneDNN's axis order (B, C, spatial…), by its strides.
memory::desc channels_last(const Shape& shape) {
  const int spatial = shape.rank() - 2;
  memory::dims dims{shape[0], shape.back()}, strides{shape.slice(1, shape.rank()).size(), 1};
  for (int axis = 1; axis <= spatial; ++axis) {
    dims.push_back(shape[axis]);
    strides.push_back(shape.slice(axis + 1, shape.rank()).size());
  }
  return {dims, memory::data_type::f32, strides};
}

/// Describes a kernel (window…, C/groups, F) in oneDNN's axis order (groups?, F/groups, C/groups, window…).
memory::desc plain_kernel(const Shape& kernel, std::int64_t groups) {
  const Dim filters = kernel.back(), depth = kernel[-2];
  memory::dims dims{filters / groups, depth}, strides{1, filters};
  if (groups > 1) {
    dims.insert(dims.begin(), groups);
    strides.insert(strides.begin(), filters / groups);
  }
  for (int axis = 0; axis < kernel.rank() - 2; ++axis) {
    dims.push_back(kernel[axis]);
    strides.push_back(kernel.slice(axis + 1, kernel.rank()).size());
  }
  return {dims, memory::data_type::f32, strides};
}

Shape samples_of(Shape shape, Dim samples) {
  shape[0] = samples;
  return shape;
}

}  // namespace

ConvDescription::ConvDescription(const graph::Conv& op, const Shape& x, const Shape& kernel, const Shape& y,
                                 Dim samples)
    : source(channels_last(samples_of(x, samples))),
      target(channels_last(samples_of(y, samples))),
      plain_weights(plain_kernel(kernel, op.groups)),
      weights(plain_weights.get_dims(), memory::data_type::f32, memory::format_tag::any) {
  for (int axis = 0; axis < x.rank() - 2; ++axis) {
    const std::size_t a = at(axis);
    const Dim size = x[axis + 1];
    const graph::Windows windows = graph::windows_of(size, kernel[axis], op.strides[a], op.dilation[a], op.padding);
    const Dim reach = (windows.count - 1) * op.strides[a] + (kernel[axis] - 1) * op.dilation[a] + 1;
    strides.push_back(op.strides[a]);
    dilation.push_back(op.dilation[a] - 1);  // oneDNN's dilation is the number of cells in between
    before.push_back(windows.before);
    after.push_back(std::max<Dim>(0, reach - size - windows.before));
  }
}

dnnl::convolution_forward::primitive_desc ConvDescription::forward(const dnnl::engine& engine,
                                                                   const dnnl::primitive_attr& attributes) const {
  return {engine,
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          source,
          weights,
          target,
          strides,
          dilation,
          before,
          after,
          attributes};
}

}  // namespace attn::backends::cpu
