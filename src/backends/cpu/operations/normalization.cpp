// Layer normalization over the last axes, batch normalization over any axis.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernel.h"
#include "parallel.h"
#include "quantized/byte_rows.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::NormKind;

/// y = (x − shift)/√(spread + ε)·gamma + beta; gamma and beta may be null.
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

/// A weight of any dtype, converted to float32 once; operands that change between runs are read in place.
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
      : op_(step.op<graph::LayerNorm>()), x_(step.inputs[0]), y_(step.outputs[0]), handover_(step.handover) {
    const graph::LayerNorm& op = op_;
    if (op.scale) gamma_ = {step.inputs[1], step.fixed[1]};
    if (op.center) beta_ = {step.inputs.back(), step.fixed.back()};
    length_ = 1;
    for (const int axis : op.axes) length_ *= x_.shape[axis];
    // An element needs about 8 operations. The estimate is higher so that all threads take part: moving cache lines
    // that other threads wrote and will read costs more than the computation.
    constexpr double kWork = 40.0;
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
    const std::int64_t rows = x_.size() / length_;
    const ByteRows left = handover_.leaves == nullptr ? ByteRows() : ByteRows(handover_.leaves->get(), rows, length_);
    parallel_ranges(rows, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        normalize_row(op_.kind, epsilon, x + row * length_, gamma_.data(), beta_.data(), y + row * length_, length_);
        if constexpr (std::is_same_v<Number, float>) {
          if (handover_.leaves != nullptr) left.take(row, y + row * length_, *handover_.range);
        }
      }
    });
  }

  graph::LayerNorm op_;
  Operand x_, y_;
  Handover handover_;
  Factors gamma_, beta_;
  std::int64_t length_;
  Team team_;
};

/// y = (x − mean)·factor + beta over the last axis, or over `inner` numbers of one channel.
ATTN_VECTORIZED(void, shift_and_scale, const float* x, const float* mean, const float* factor, const float* beta,
                float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean[i]) * factor[i] + beta[i];
}
ATTN_VECTORIZED(void, shift_and_scale_evenly, const float* x, float mean, float factor, float beta, float* y,
                std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = (x[i] - mean) * factor + beta;
}

/// Batch normalization. The statistics are weights, or change between runs, as in training.
class BatchNormKernel final : public Kernel {
 public:
  explicit BatchNormKernel(const Step& step)
      : op_(step.op<graph::BatchNorm>()), inputs_(step.inputs), y_(step.outputs[0]) {
    const Shape& x = inputs_[0].shape;
    const int axis = op_.axis < 0 ? op_.axis + x.rank() : op_.axis;
    channels_ = x[axis];
    inner_ = x.slice(axis + 1, x.rank()).size();
    for (std::vector<float>* each : {&mean_, &factor_, &beta_}) each->resize(static_cast<std::size_t>(channels_));
    for (std::size_t i = 1; i < inputs_.size(); ++i) moves_ = moves_ || !step.is_fixed(i);
    if (!moves_) take(step.fixed);
    team_ = step.engine.team_for(4.0 * static_cast<double>(inputs_[0].size()));
  }

  void run() override {
    if (moves_) {
      std::vector<Tensor> statistics;
      for (const Operand& input : inputs_) statistics.push_back(view_of(input));
      take(statistics);
    }
    const float* const x = inputs_[0].data<float>();
    float* const y = y_.data<float>();
    if (inner_ == 1) {
      parallel_ranges(y_.size() / channels_, team_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          shift_and_scale(x + row * channels_, mean_.data(), factor_.data(), beta_.data(), y + row * channels_,
                          channels_);
        }
      });
      return;
    }
    parallel_ranges(y_.size() / inner_, team_, [&](std::int64_t begin, std::int64_t end) {
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
  /// Computes the shift and the scale of each channel from all inputs except the first.
  void take(const std::vector<Tensor>& inputs) {
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const auto at = static_cast<std::int64_t>(c);
      const double gamma = op_.scale ? inputs[3].at(at) : 1.0;
      mean_[c] = static_cast<float>(inputs[1].at(at));
      factor_[c] = static_cast<float>(gamma / std::sqrt(inputs[2].at(at) + op_.epsilon));
      beta_[c] = op_.center ? static_cast<float>(inputs.back().at(at)) : 0.0F;
    }
  }

  graph::BatchNorm op_;
  std::vector<Operand> inputs_;
  Operand y_;
  std::int64_t channels_ = 0, inner_ = 0;
  bool moves_ = false;
  std::vector<float> mean_, factor_, beta_;
  Team team_;
};

std::string why_not_layers(const StepInfo& step) {
  const auto& op = step.op<graph::LayerNorm>();
  const int first = step.inputs[0].shape.rank() - static_cast<int>(op.axes.size());
  if (op.axes.front() != first) return "the axes are not the last ones";
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.inputs[i].dtype != DType::float32 && !step.is_fixed(i)) return "gamma or beta is not a weight";
  }
  return "";
}

/// Returns the bytes of gamma and beta in float32.
MemoryNeeds layer_needs(const StepInfo& step) {
  MemoryNeeds needs;
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.inputs[i].dtype != DType::float32)
      needs.held += bytes_times({step.inputs[i].size(), bytes_of(DType::float32)});
  }
  return needs;
}

/// Returns the bytes of the shift and the scale of each channel.
MemoryNeeds batch_needs(const StepInfo& step) {
  MemoryNeeds needs;
  needs.held = bytes_times({3, step.inputs[1].size(), bytes_of(DType::float32)});
  return needs;
}

}  // namespace

std::optional<ProducedRows> rows_of_normalization(const StepInfo& step) {
  const Operand& x = step.inputs[0];
  if (x.dtype != DType::float32 || x.size() == 0 || !why_not_layers(step).empty()) return std::nullopt;
  const auto axes = static_cast<int>(step.op<graph::LayerNorm>().axes.size());
  const std::int64_t length = x.shape.slice(x.shape.rank() - axes, x.shape.rank()).size();
  return ProducedRows{x.size() / length, length};
}

Kernels kernels_of(const graph::LayerNorm&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32_or_bfloat16, why_not_layers, layer_needs, make_as<LayerNormKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::BatchNorm&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, takes_all, batch_needs, make_as<BatchNormKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
