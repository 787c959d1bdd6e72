// Convolutions by oneDNN, directly on channels-last arrays.
#include <algorithm>
#include <optional>

#include "attn/plan/bytes.h"
#include "convolution_description.h"
#include "gemm/product.h"
#include "kernel.h"
#include "primitive.h"
#include "training/convolution_training.h"

namespace attn::backends::cpu {
namespace {

using dnnl::memory;

/// Computes one sample at a time per thread.
class ConvKernel final : public Kernel {
 public:
  explicit ConvKernel(const Step& step)
      : x_(step.inputs[0]),
        y_(step.outputs[0]),
        eltwise_(eltwise_of(step.op<graph::Conv>().activation)),
        finish_(eltwise_ ? graph::Unary{} : step.op<graph::Conv>().activation, false) {
    const auto& op = step.op<graph::Conv>();
    const Shape& kernel = step.inputs[1].shape;
    const ConvDescription conv(op, x_.shape, kernel, y_.shape, 1);
    dnnl::primitive_attr attributes = user_scratchpad();
    if (eltwise_) {
      dnnl::post_ops fused;
      fused.append_eltwise(eltwise_->algorithm, eltwise_->alpha, eltwise_->beta);
      attributes.set_post_ops(fused);
    }
    const memory::desc bias = op.bias ? plain({kernel.back()}) : memory::desc();
    const dnnl::convolution_forward::primitive_desc description(
        step.engine.engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, conv.source,
        conv.weights, bias, conv.target, conv.strides, conv.dilation, conv.before, conv.after, attributes);
    weights_ = packed(step.engine, conv.plain_weights, step.fixed[1].data(), description.weights_desc());
    if (op.bias) bias_ = packed(step.engine, bias, step.fixed[2].data(), bias);

    const double taps = static_cast<double>(kernel.slice(0, kernel.rank() - 1).size());
    team_ = step.engine.team_for(2.0 * taps * static_cast<double>(y_.size()));
    const dnnl::convolution_forward primitive(description);
    for (int thread = 0; thread < team_.threads; ++thread) {
      SampleCall call{Call(step.engine, primitive, description.scratchpad_desc()), 0, 0};
      call.call.bind(DNNL_ARG_WEIGHTS, weights_);
      if (op.bias) call.call.bind(DNNL_ARG_BIAS, bias_);
      call.x = call.call.bind(DNNL_ARG_SRC, conv.source);
      call.y = call.call.bind(DNNL_ARG_DST, conv.target);
      calls_.push_back(std::move(call));
    }
  }

  void run() override {
    const Dim samples = x_.shape[0];
    const std::int64_t x_size = x_.size() / samples, y_size = y_.size() / samples;
    parallel_for(samples, team_, [&](std::int64_t b, int thread) {
      SampleCall& call = calls_[static_cast<std::size_t>(thread)];
      float* const y = y_.data<float>() + b * y_size;
      call.call.set_address(call.x, x_.data<float>() + b * x_size);
      call.call.set_address(call.y, y);
      call.call.run();
      if (finish_.is_needed()) finish_.run(nullptr, y, y_size);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "onednn convolution"; }
  [[nodiscard]] std::int64_t bytes() const override {
    auto sum = static_cast<std::int64_t>(weights_.get_desc().get_size());
    if (bias_) sum += static_cast<std::int64_t>(bias_.get_desc().get_size());
    for (const SampleCall& call : calls_) sum += call.call.bytes();
    return sum;
  }

 private:
  struct SampleCall {
    Call call;
    std::size_t x, y;
  };

  Operand x_, y_;
  std::optional<Eltwise> eltwise_;
  Finish finish_;
  Team team_;
  memory weights_, bias_;
  std::vector<SampleCall> calls_;  // for each thread
};

std::string why_not(const StepInfo& step) {
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (!step.is_fixed(i)) return "the kernel or the bias is not a weight";
  }
  return "";
}

MemoryNeeds needs_of(const StepInfo& step) {
  constexpr std::int64_t kBlock = 16;  // oneDNN pads channels and filters to blocks of this size
  const auto whole = [](std::int64_t size) { return bytes_times({(size + kBlock - 1) / kBlock, kBlock}); };
  const Shape& kernel = step.inputs[1].shape;
  MemoryNeeds needs;
  needs.held = bytes_times(
      {kernel.slice(0, kernel.rank() - 2).size(), whole(kernel[-2]), whole(kernel.back()), bytes_of(DType::float32)});
  if (step.op<graph::Conv>().bias)
    needs.held = plan::sum_of_bytes({needs.held, bytes_times({kernel.back(), bytes_of(DType::float32)})});
  needs.copied.assign(step.inputs.size(), true);
  needs.copied[0] = false;
  needs.uses_library = true;
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::Conv&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, needs_of, make_as<ConvKernel>},
                                            {KernelDType::float32, takes_all, dynamic_conv_needs, make_dynamic_conv}};
  return kKernels;
}

}  // namespace attn::backends::cpu
