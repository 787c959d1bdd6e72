#include "attn/base/error.h"
#include "attn/graph/window.h"
#include "infer.h"

namespace attn::graph {
namespace {

void expect_steps(std::span<const std::int64_t> steps, int spatial, std::string_view what) {
  if (static_cast<int>(steps.size()) != spatial) {
    throw bad_input("{} {} do not fit {} spatial axes", steps.size(), what, spatial);
  }
  for (const std::int64_t step : steps) {
    if (step < 1) throw bad_input("{} must be at least 1, one is {}", what, step);
  }
}

// Returns the number of windows, which replaces the size of a spatial axis of x (B, spatial…, C).
Dim slide(Dim dim, std::int64_t window, std::int64_t stride, std::int64_t dilation, Padding padding) {
  return dim == kUnknown ? kUnknown : windows_of(dim, window, stride, dilation, padding).count;
}

int spatial_axes(const Shape& x) {
  const int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 3) {
    throw bad_input("x must have a batch axis, 1 to 3 spatial axes and a channel axis, its shape is {}", x.str());
  }
  return spatial;
}

}  // namespace

Types infer_types(const Conv& op, Inputs in) {
  expect_inputs(in, op.bias ? 3 : 2);
  expect_one_dtype(in);
  expect_floating(in[0].dtype, name_of(op));
  const Shape& x = in[0].shape;
  const Shape& kernel = in[1].shape;  // (window…, C/groups, F)
  const int spatial = spatial_axes(x);
  expect_rank(kernel, x.rank(), "the kernel");
  expect_steps(op.strides, spatial, "strides");
  expect_steps(op.dilation, spatial, "dilation rates");
  const Dim channels = x[-1];
  const Dim filters = kernel[-1];
  if (op.groups < 1) throw bad_input("groups must be at least 1, they are {}", op.groups);
  if (channels != kUnknown && channels % op.groups != 0) {
    throw bad_input("{} channels cannot be split into {} groups", channels, op.groups);
  }
  if (filters != kUnknown && filters % op.groups != 0) {
    throw bad_input("{} filters cannot be split into {} groups", filters, op.groups);
  }
  if (channels != kUnknown && !agree(channels / op.groups, kernel[-2])) {
    throw bad_input("x has {} channels in each of {} groups, the kernel expects {}", channels / op.groups, op.groups,
                    kernel[-2]);
  }
  Shape out{x[0]};
  for (int i = 0; i < spatial; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const Dim window = kernel[i];
    if (window != kUnknown && window < 1) throw bad_input("the kernel {} has an empty window", kernel.str());
    out.push_back(window == kUnknown ? kUnknown
                                     : slide(x[i + 1], window, op.strides[axis], op.dilation[axis], op.padding));
  }
  out.push_back(filters);
  if (op.bias) expect_shape(in[2].shape, Shape{filters}, "the bias");
  return {{result_of_activation(op.activation, in[0].dtype), out}};
}

Types infer_types(const Pool& op, Inputs in) {
  expect_inputs(in, 1);
  if (op.average) expect_floating(in[0].dtype, name_of(op));
  const Shape& x = in[0].shape;
  const int spatial = spatial_axes(x);
  expect_steps(op.window, spatial, "window sizes");
  expect_steps(op.strides, spatial, "strides");
  Shape out{x[0]};
  for (int i = 0; i < spatial; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    out.push_back(slide(x[i + 1], op.window[axis], op.strides[axis], 1, op.padding));
  }
  out.push_back(x[-1]);
  return {{in[0].dtype, out}};
}

}  // namespace attn::graph
