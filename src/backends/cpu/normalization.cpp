// Layer normalization over the last axes, batch normalization over any.
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::NormKind;

/// y = (x − shift)/√(spread + ε)·gamma + beta, where gamma and beta may be null.
template <typename Number>
[[gnu::always_inline]] inline void normalize(NormKind kind, float epsilon, const Number* x, const float* gamma,
                                             const float* beta, Number* y, std::int64_t size) {
  const auto count = static_cast<float>(size);
  const float mean = kind == NormKind::rms ? 0.0F : sum_of(x, size) / count;
  const auto squared = [mean](Lanes & part) __attribute__((always_inline)) {
    part -= mean;
    part *= part;
  };
  const float spread = sum_of(x, size, squared) / count;
  const auto inverse =
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(spread) + static_cast<double>(epsilon)));  // rounded once
  const float shift = kind == NormKind::layer ? mean : 0.0F;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers, factors;
    load_some(x + i, size - i, numbers);
    numbers = (numbers - shift) * inverse;
    if (gamma != nullptr) {
      load_some(gamma + i, size - i, factors);
      numbers *= factors;
    }
    if (beta != nullptr) {
      load_some(beta + i, size - i, factors);
      numbers += factors;
    }
    store_some(numbers, size - i, y + i);
  }
}

ATTN_VECTORIZED(void, normalize_floats, NormKind kind, float epsilon, const float* x, const float* gamma,
                const float* beta, float* y, std::int64_t size) {
  normalize(kind, epsilon, x, gamma, beta, y, size);
}
ATTN_VECTORIZED(void, normalize_bfloat16, NormKind kind, float epsilon, const std::uint16_t* x, const float* gamma,
                const float* beta, std::uint16_t* y, std::int64_t size) {
  normalize(kind, epsilon, x, gamma, beta, y, size);
}

/// A weight in float32, whatever its dtype, and what is no weight where it is.
class Factors {
 public:
  Factors() = default;
  Factors(const Operand& operand, const Tensor& fixed) : operand_(operand) {
    if (operand.dtype != DType::float32) numbers_ = fixed.cast(DType::float32);
  }
  [[nodiscard]] const float* data() const {
    if (numbers_.data() != nullptr) return reinterpret_cast<const float*>(numbers_.data());
    return operand_.place != nullptr ? operand_.data<float>() : nullptr;
  }
  [[nodiscard]] std::int64_t bytes() const { return numbers_.bytes(); }

 private:
  Operand operand_;
  Tensor numbers_;
};

class LayerNormKernel final : public Kernel {
 public:
  explicit LayerNormKernel(const Step& step)
      : op_(step.op<graph::LayerNorm>()), x_(step.inputs[0]), y_(step.outputs[0]) {
    const graph::LayerNorm& op = op_;
    if (op.scale) gamma_ = {step.inputs[1], step.fixed[1]};
    if (op.center) beta_ = {step.inputs.back(), step.fixed.back()};
    length_ = 1;
    for (const int axis : op.axes) length_ *= x_.shape[axis];
    constexpr double kWork = 8.0;  // operations for a number
    team_ = step.engine.team_for(kWork * static_cast<double>(x_.size()));
  }

  void run() override {
    if (x_.dtype == DType::float32) {
      run_on<float>(normalize_floats);
    } else {
      run_on<std::uint16_t>(normalize_bfloat16);
    }
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }
  [[nodiscard]] std::int64_t bytes() const override { return gamma_.bytes() + beta_.bytes(); }

 private:
  template <typename Number>
  void run_on(const auto& normalize_row) const {
    const auto* const x = x_.data<Number>();
    auto* const y = y_.data<Number>();
    const auto epsilon = static_cast<float>(op_.epsilon);
    parallel_ranges(x_.size() / length_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        normalize_row(op_.kind, epsilon, x + row * length_, gamma_.data(), beta_.data(), y + row * length_, length_);
      }
    });
  }

  graph::LayerNorm op_;
  Operand x_, y_;
  Factors gamma_, beta_;
  std::int64_t length_;
  Team team_;
};

/// y = (x − mean)·factor + beta over the last axis; or over `inner` numbers of one channel.
ATTN_VECTORIZED(void, shift_and_scale, const float* x, const float* mean, const float* factor, const float* beta,
                float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean[i]) * factor[i] + beta[i];
}
ATTN_VECTORIZED(void, shift_and_scale_evenly, const float* x, float mean, float factor, float beta, float* y,
                std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean) * factor + beta;
}

class BatchNormKernel final : public Kernel {
 public:
  explicit BatchNormKernel(const Step& step) : x_(step.inputs[0]), y_(step.outputs[0]) {
    const auto& op = step.op<graph::BatchNorm>();
    const int axis = op.axis < 0 ? op.axis + x_.shape.rank() : op.axis;
    channels_ = x_.shape[axis];
    inner_ = x_.shape.slice(axis + 1, x_.shape.rank()).size();
    for (Dim c = 0; c < channels_; ++c) {
      const double gamma = op.scale ? step.fixed[3].at(c) : 1.0;
      mean_.push_back(static_cast<float>(step.fixed[1].at(c)));
      factor_.push_back(static_cast<float>(gamma / std::sqrt(step.fixed[2].at(c) + op.epsilon)));
      beta_.push_back(op.center ? static_cast<float>(step.fixed.back().at(c)) : 0.0F);
    }
    team_ = step.engine.team_for(4.0 * static_cast<double>(x_.size()));
  }

  void run() override {
    const float* const x = x_.data<float>();
    float* const y = y_.data<float>();
    if (inner_ == 1) {
      parallel_ranges(x_.size() / channels_, team_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          shift_and_scale(x + row * channels_, mean_.data(), factor_.data(), beta_.data(), y + row * channels_,
                          channels_);
        }
      });
      return;
    }
    parallel_ranges(x_.size() / inner_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto c = static_cast<std::size_t>(row % channels_);
        shift_and_scale_evenly(x + row * inner_, mean_[c], factor_[c], beta_[c], y + row * inner_, inner_);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>((mean_.size() + factor_.size() + beta_.size()) * sizeof(float));
  }

 private:
  Operand x_, y_;
  std::int64_t channels_, inner_;
  std::vector<float> mean_, factor_, beta_;
  Team team_;
};

std::string why_not_layers(const StepInfo& step) {
  const auto& op = step.op<graph::LayerNorm>();
  const int first = step.inputs[0].shape.rank() - static_cast<int>(op.axes.size());
  if (op.axes.front() != first) return "the axes are not the last ones";
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.inputs[i].dtype != DType::float32 && !step.is_fixed(i)) return "gamma or beta is no weight";
  }
  return "";
}

/// The kernel holds gamma and beta in float32.
Needs layer_needs(const StepInfo& step) {
  Needs needs;
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.inputs[i].dtype != DType::float32)
      needs.held += bytes_times({step.inputs[i].size(), bytes_of(DType::float32)});
  }
  return needs;
}

std::string why_not_batches(const StepInfo& step) {
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (!step.is_fixed(i)) return "the statistics are no weights";
  }
  return "";
}

/// The kernel holds what each channel is shifted and scaled by.
Needs batch_needs(const StepInfo& step) {
  Needs needs;
  needs.held = bytes_times({3, step.inputs[1].size(), bytes_of(DType::float32)});
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::LayerNorm&) {
  static constexpr KernelInfo kKernels[] = {
      {Takes::float32_or_bfloat16, why_not_layers, layer_needs, make_as<LayerNormKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::BatchNorm&) {
  static constexpr KernelInfo kKernels[] = {{Takes::float32, why_not_batches, batch_needs, make_as<BatchNormKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
