// Convolutions by oneDNN, on channels-last arrays as they are.
#include <algorithm>
#include <optional>

#include "attn/graph/window.h"
#include "kernel.h"
#include "parallel.h"
#include "primitive.h"
#include "unary.h"

namespace attn::backends::onednn {
namespace {

using dnnl::memory;

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

/// (B, spatial…, C) as oneDNN names axes: (B, C, spatial…), described by strides.
memory::desc channels_last(const Shape& shape) {
  const int spatial = shape.rank() - 2;
  memory::dims dims{shape[0], shape.back()}, strides{shape.slice(1, shape.rank()).size(), 1};
  for (int axis = 1; axis <= spatial; ++axis) {
    dims.push_back(shape[axis]);
    strides.push_back(shape.slice(axis + 1, shape.rank()).size());
  }
  return {dims, memory::data_type::f32, strides};
}

/// (window…, C/groups, F) as (groups?, F/groups, C/groups, window…).
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

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const graph::Conv& op, const Step& step)
      : y_(step.outputs[0]), primitive_(step.engine, step.engine.threads) {
    const ThreadScope scope(step.engine.threads);
    const Shape& x = step.inputs[0].shape;
    const Shape& kernel = step.inputs[1].shape;
    memory::dims strides, dilation, before, after;
    for (int axis = 0; axis < x.rank() - 2; ++axis) {
      const std::size_t a = at(axis);
      const graph::Windows windows =
          graph::windows_of(x[axis + 1], kernel[axis], op.strides[a], op.dilation[a], op.padding);
      const Dim reach = (windows.count - 1) * op.strides[a] + (kernel[axis] - 1) * op.dilation[a] + 1;
      strides.push_back(op.strides[a]);
      dilation.push_back(op.dilation[a] - 1);  // oneDNN counts the cells between
      before.push_back(windows.before);
      after.push_back(std::max<Dim>(0, reach - x[axis + 1] - windows.before));
    }

    const auto eltwise = eltwise_of(op.activation);
    dnnl::primitive_attr attributes = user_scratchpad();
    if (eltwise) {
      dnnl::post_ops fused;
      fused.append_eltwise(eltwise->algorithm, eltwise->alpha, eltwise->beta);
      attributes.set_post_ops(fused);
    } else if (op.activation.fn != graph::UnaryFn::linear) {
      activation_.emplace(op.activation);
    }

    const memory::desc source = channels_last(x), target = channels_last(y_.shape);
    const memory::desc plain_weights = plain_kernel(kernel, op.groups);
    const memory::desc weights(plain_weights.get_dims(), memory::data_type::f32, memory::format_tag::any);
    const memory::desc bias = op.bias ? plain({kernel.back()}) : memory::desc();
    const dnnl::convolution_forward::primitive_desc description(
        step.engine.engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, weights,
        bias, target, strides, dilation, before, after, attributes);
    weights_ = packed(step.engine, plain_weights, step.fixed[1].data(), description.weights_desc());
    primitive_.set(dnnl::convolution_forward(description), description.scratchpad_desc());
    primitive_.bind(DNNL_ARG_SRC, source, step.inputs[0]);
    primitive_.bind(DNNL_ARG_WEIGHTS, weights_);
    if (op.bias) {
      primitive_.bind(DNNL_ARG_BIAS, packed(step.engine, bias, step.fixed[2].data(), bias));
      step.packed[2] = true;
    }
    primitive_.bind(DNNL_ARG_DST, target, y_);
    step.packed[1] = true;
  }

  void run() override {
    primitive_.run();
    if (!activation_) return;
    float* const y = y_.data<float>();
    const int threads = threads_for(4.0 * static_cast<double>(y_.size()), primitive_.threads());
    parallel_ranges(y_.size(), threads,
                    [&](std::int64_t begin, std::int64_t end) { (*activation_)(y + begin, y + begin, end - begin); });
  }
  [[nodiscard]] std::string_view name() const override { return "onednn convolution"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(weights_.get_desc().get_size()) + primitive_.bytes();
  }

 private:
  Operand y_;
  Primitive primitive_;
  memory weights_;
  std::optional<UnaryLoop> activation_;
};

}  // namespace

Choice make(const graph::Conv& op, const Step& step) {
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (!step.is_fixed(i)) return "the kernel or the bias is no weight";
  }
  return std::make_unique<ConvKernel>(op, step);
}

}  // namespace attn::backends::onednn
