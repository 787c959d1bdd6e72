// Convolutions with non-constant kernels, and their gradients, by oneDNN.
#include "convolution_training.h"

#include <algorithm>
#include <vector>

#include "attn/plan/bytes.h"
#include "gemm/product.h"
#include "operations/convolution_description.h"
#include "operations/loops.h"
#include "primitive.h"

namespace attn::backends::cpu {
namespace {

using dnnl::memory;

/// The kernel in oneDNN's layout, converted in each run.
class Weights {
 public:
  Weights(Engine& engine, const memory::desc& plain, const memory::desc& wanted)
      : stream_(engine.stream),
        from_(plain, engine.engine, nullptr),
        to_(wanted, engine.engine),
        reorder_(from_, to_) {}
  void take(const float* numbers) {
    from_.set_data_handle(const_cast<float*>(numbers));  // oneDNN only reads the numbers
    reorder_.execute(stream_, from_, to_);
    stream_.wait();
  }
  [[nodiscard]] const memory& get() const { return to_; }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(to_.get_desc().get_size()); }

 private:
  dnnl::stream stream_;
  memory from_, to_;
  dnnl::reorder reorder_;
};

/// An array that a primitive reads or writes: its oneDNN argument, and the description of one sample.
struct Argument {
  int number;
  const memory::desc& description;
};

/// A primitive that processes one sample at a time, with a call for each thread; the calls share the kernel.
class SampleCalls {
 public:
  SampleCalls(Engine& engine, const dnnl::primitive& primitive, const memory::desc& scratchpad, int threads,
              const Weights& weights, const Argument& from, const Argument& to) {
    for (int thread = 0; thread < threads; ++thread) {
      One one{Call(engine, primitive, scratchpad), 0, 0};
      one.call.bind(DNNL_ARG_WEIGHTS, weights.get());
      one.from = one.call.bind(from.number, from.description);
      one.to = one.call.bind(to.number, to.description);
      calls_.push_back(std::move(one));
    }
  }

  void run(int thread, const float* from, float* to) {
    One& one = calls_[static_cast<std::size_t>(thread)];
    one.call.set_address(one.from, from);
    one.call.set_address(one.to, to);
    one.call.run();
  }
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const One& one : calls_) sum += one.call.bytes();
    return sum;
  }

 private:
  struct One {
    Call call;
    std::size_t from, to;
  };
  std::vector<One> calls_;  // for each thread
};

double work_of(const Shape& kernel, const Shape& y) {
  return 2.0 * static_cast<double>(kernel.slice(0, kernel.rank() - 1).size()) * static_cast<double>(y.size());
}

/// y = activation(conv(x, kernel) + bias), one sample at a time.
class DynamicConv final : public Kernel {
 public:
  explicit DynamicConv(const Step& step)
      : x_(step.inputs[0]),
        kernel_(step.inputs[1]),
        y_(step.outputs[0]),
        conv_(step.op<graph::Conv>(), x_.shape, kernel_.shape, y_.shape, 1),
        description_(conv_.forward(step.engine.engine, user_scratchpad())),
        weights_(step.engine, conv_.plain_weights, description_.weights_desc()),
        finish_(step.op<graph::Conv>().activation, false),
        team_(step.engine.team_for(work_of(kernel_.shape, y_.shape))),
        calls_(step.engine, dnnl::convolution_forward(description_), description_.scratchpad_desc(), team_.threads,
               weights_, {DNNL_ARG_SRC, conv_.source}, {DNNL_ARG_DST, conv_.target}) {
    if (step.op<graph::Conv>().bias) bias_ = step.inputs[2];
  }

  void run() override {
    weights_.take(kernel_.data<float>());
    const Dim samples = x_.shape[0], filters = y_.shape.back();
    const std::int64_t x_size = x_.size() / samples, y_size = y_.size() / samples;
    const float* const bias = bias_.place == nullptr ? nullptr : bias_.data<float>();
    parallel_for(samples, team_, [&](std::int64_t b, int thread) {
      float* const y = y_.data<float>() + b * y_size;
      calls_.run(thread, x_.data<float>() + b * x_size, y);
      for (std::int64_t i = 0; bias != nullptr && i < y_size; i += filters) add_to(y + i, bias, filters);
      if (finish_.is_needed()) finish_.run(nullptr, y, y_size);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "onednn convolution"; }
  [[nodiscard]] std::int64_t bytes() const override { return weights_.bytes() + calls_.bytes(); }

 private:
  Operand x_, kernel_, bias_, y_;
  ConvDescription conv_;
  dnnl::convolution_forward::primitive_desc description_;
  Weights weights_;
  Finish finish_;
  Team team_;
  SampleCalls calls_;
};

/// Computes dx, one sample at a time.
class ConvInputGradKernel final : public Kernel {
 public:
  explicit ConvInputGradKernel(const Step& step)
      : kernel_(step.inputs[0]),
        dy_(step.inputs[1]),
        dx_(step.outputs[0]),
        conv_(step.op<graph::ConvInputGrad>().forward, dx_.shape, kernel_.shape, dy_.shape, 1),
        description_(step.engine.engine, dnnl::algorithm::convolution_direct, conv_.source, conv_.weights, conv_.target,
                     conv_.strides, conv_.dilation, conv_.before, conv_.after,
                     conv_.forward(step.engine.engine, user_scratchpad()), user_scratchpad()),
        weights_(step.engine, conv_.plain_weights, description_.weights_desc()),
        team_(step.engine.team_for(work_of(kernel_.shape, dy_.shape))),
        calls_(step.engine, dnnl::convolution_backward_data(description_), description_.scratchpad_desc(),
               team_.threads, weights_, {DNNL_ARG_DIFF_DST, conv_.target}, {DNNL_ARG_DIFF_SRC, conv_.source}) {}

  void run() override {
    weights_.take(kernel_.data<float>());
    const Dim samples = dx_.shape[0];
    const std::int64_t x_size = dx_.size() / samples, y_size = dy_.size() / samples;
    parallel_for(samples, team_, [&](std::int64_t b, int thread) {
      calls_.run(thread, dy_.data<float>() + b * y_size, dx_.data<float>() + b * x_size);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "onednn convolution"; }
  [[nodiscard]] std::int64_t bytes() const override { return weights_.bytes() + calls_.bytes(); }

 private:
  Operand kernel_, dy_, dx_;
  ConvDescription conv_;
  dnnl::convolution_backward_data::primitive_desc description_;
  Weights weights_;
  Team team_;
  SampleCalls calls_;
};

/// Returns the number of equal parts of a batch. It does not depend on threads, so that sums do not depend on them
/// either.
std::int64_t parts_of_batch(Dim samples) {
  constexpr std::int64_t kMost = 16;
  std::int64_t parts = std::min<std::int64_t>(samples, kMost);
  while (samples % parts != 0) --parts;
  return parts;
}

/// Computes dkernel. Each part of the batch computes a gradient, and the gradients are added in order.
class ConvKernelGradKernel final : public Kernel {
 public:
  explicit ConvKernelGradKernel(const Step& step)
      : x_(step.inputs[0]),
        dy_(step.inputs[1]),
        dkernel_(step.outputs[0]),
        parts_(parts_of_batch(x_.shape[0])),
        conv_(step.op<graph::ConvKernelGrad>().forward, x_.shape, dkernel_.shape, dy_.shape, x_.shape[0] / parts_),
        description_(step.engine.engine, dnnl::algorithm::convolution_direct, conv_.source, conv_.weights, conv_.target,
                     conv_.strides, conv_.dilation, conv_.before, conv_.after,
                     conv_.forward(step.engine.engine, user_scratchpad()), user_scratchpad()),
        stream_(step.engine.stream),
        sum_(description_.diff_weights_desc(), step.engine.engine),
        plain_(conv_.plain_weights, step.engine.engine, nullptr),
        reorder_(sum_, plain_),
        team_(step.engine.team_for(work_of(dkernel_.shape, dy_.shape))) {
    const dnnl::convolution_backward_weights primitive(description_);
    for (std::int64_t part = 0; part < parts_; ++part)
      gradients_.emplace_back(description_.diff_weights_desc(), step.engine.engine);
    for (int thread = 0; thread < team_.threads; ++thread) {
      PartCall call{Call(step.engine, primitive, description_.scratchpad_desc()), 0, 0, 0};
      call.x = call.call.bind(DNNL_ARG_SRC, conv_.source);
      call.dy = call.call.bind(DNNL_ARG_DIFF_DST, conv_.target);
      call.gradient = call.call.bind(DNNL_ARG_DIFF_WEIGHTS, description_.diff_weights_desc());
      calls_.push_back(std::move(call));
    }
  }

  void run() override {
    const std::int64_t x_size = x_.size() / parts_, y_size = dy_.size() / parts_;
    parallel_for(parts_, team_, [&](std::int64_t part, int thread) {
      PartCall& call = calls_[static_cast<std::size_t>(thread)];
      call.call.set_address(call.x, x_.data<float>() + part * x_size);
      call.call.set_address(call.dy, dy_.data<float>() + part * y_size);
      call.call.set_address(call.gradient, gradients_[static_cast<std::size_t>(part)].get_data_handle());
      call.call.run();
    });
    const std::int64_t count = bytes_of_one() / bytes_of(DType::float32);
    auto* const sum = static_cast<float*>(sum_.get_data_handle());
    std::copy_n(static_cast<const float*>(gradients_[0].get_data_handle()), count, sum);
    for (std::size_t part = 1; part < gradients_.size(); ++part)
      add_to(sum, static_cast<const float*>(gradients_[part].get_data_handle()), count);
    plain_.set_data_handle(dkernel_.data<float>());
    reorder_.execute(stream_, sum_, plain_);
    stream_.wait();
  }
  [[nodiscard]] std::string_view name() const override { return "onednn convolution"; }
  [[nodiscard]] std::int64_t bytes() const override {
    std::int64_t sum = bytes_of_one() * (parts_ + 1);
    for (const PartCall& call : calls_) sum += call.call.bytes();
    return sum;
  }

 private:
  struct PartCall {
    Call call;
    std::size_t x, dy, gradient;
  };
  [[nodiscard]] std::int64_t bytes_of_one() const { return static_cast<std::int64_t>(sum_.get_desc().get_size()); }

  Operand x_, dy_, dkernel_;
  std::int64_t parts_;
  ConvDescription conv_;
  dnnl::convolution_backward_weights::primitive_desc description_;
  dnnl::stream stream_;
  memory sum_, plain_;
  dnnl::reorder reorder_;
  Team team_;
  std::vector<memory> gradients_;  // for each part
  std::vector<PartCall> calls_;    // for each thread
};

/// Returns the bytes of `copies` kernels in blocks of 16 channels and filters.
std::int64_t blocked_bytes(const Shape& kernel, std::int64_t copies) {
  constexpr std::int64_t kBlock = 16;
  const auto whole = [](std::int64_t size) { return bytes_times({(size + kBlock - 1) / kBlock, kBlock}); };
  return bytes_times({kernel.slice(0, kernel.rank() - 2).size(), whole(kernel[-2]), whole(kernel.back()),
                      bytes_of(DType::float32), copies});
}

MemoryNeeds needs_of_blocked(const Shape& kernel, std::int64_t copies) {
  MemoryNeeds needs;
  needs.held = blocked_bytes(kernel, copies);
  needs.uses_library = true;
  return needs;
}

MemoryNeeds input_grad_needs(const StepInfo& step) { return needs_of_blocked(step.inputs[0].shape, 1); }
MemoryNeeds kernel_grad_needs(const StepInfo& step) {
  return needs_of_blocked(step.outputs[0].shape, parts_of_batch(step.inputs[0].shape[0]) + 1);
}

}  // namespace

MemoryNeeds dynamic_conv_needs(const StepInfo& step) { return needs_of_blocked(step.inputs[1].shape, 1); }

std::unique_ptr<Kernel> make_dynamic_conv(const Step& step) { return std::make_unique<DynamicConv>(step); }

Kernels kernels_of(const graph::ConvInputGrad&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, takes_all, input_grad_needs, make_as<ConvInputGradKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::ConvKernelGrad&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, takes_all, kernel_grad_needs, make_as<ConvKernelGradKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
