// Softmax cross-entropy, and its gradient, row by row.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "attn/backends/reference.h"
#include "kernel.h"
#include "operations/loops.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

ATTN_VECTORIZED(float, logsumexp, const float* x, std::int64_t size) {
  const float maximum = max_of(x, size);
  const float sum = sum_of(
      x, size, [maximum](Lanes & part) __attribute__((always_inline)) {
        exp2_below_0((part - maximum) * 1.44269504F, part);
      });
  return maximum + std::log(sum);
}

/// Returns Σ p·(lse − x).
ATTN_VECTORIZED(float, expected, const float* x, const float* p, float lse, std::int64_t size) {
  Lanes sums{};
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers, probabilities;
    load_some(x + i, size - i, numbers);
    load_some(p + i, size - i, probabilities);
    sums += probabilities * (lse - numbers);
  }
  return sum_of_lanes(sums);
}

/// dx = e^(x − lse)·factor
ATTN_VECTORIZED(void, shares, const float* x, float lse, float factor, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers;
    load_some(x + i, size - i, numbers);
    exp2_below_0((numbers - lse) * 1.44269504F, numbers);
    numbers *= factor;
    store_some(numbers, size - i, dx + i);
  }
}

/// dx = dx − factor·p
ATTN_VECTORIZED(void, take_away, float* dx, const float* p, float factor, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) dx[i] -= factor * p[i];
}
ATTN_VECTORIZED(float, sum_row, const float* x, std::int64_t size) { return sum_of(x, size); }

/// Softmax cross-entropy of rows of logits, and its gradient: the common part.
class CrossEntropy : public Kernel {
 public:
  explicit CrossEntropy(const Step& step)
      : node_(step.node),
        graph_(step.graph),
        inputs_(step.inputs),
        out_(step.outputs[0]),
        classes_(step.inputs[0].shape.back()),
        rows_(step.inputs[0].size() / classes_),
        team_(step.engine.team_for(20.0 * static_cast<double>(step.inputs[0].size()))) {}

  void run() final {
    std::atomic<bool> outside = false;
    parallel_ranges(rows_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        if (!is_sparse()) {
          by_probabilities(row, inputs_[1].data<float>() + row * classes_);
          continue;
        }
        const std::int64_t label = label_of(row);
        if (label < 0 || label >= classes_) {
          outside = true;
        } else {
          by_label(row, label);
        }
      }
    });
    if (outside) refuse();
  }
  [[nodiscard]] std::string_view name() const final { return "simple"; }

 protected:
  virtual void by_label(std::int64_t row, std::int64_t label) = 0;
  virtual void by_probabilities(std::int64_t row, const float* p) = 0;
  [[nodiscard]] const float* logits(std::int64_t row) const { return inputs_[0].data<float>() + row * classes_; }
  [[nodiscard]] const Operand& input(std::size_t i) const { return inputs_[i]; }
  [[nodiscard]] float* out() const { return out_.data<float>(); }
  [[nodiscard]] std::int64_t classes() const { return classes_; }

 private:
  [[nodiscard]] bool is_sparse() const { return is_integer(inputs_[1].dtype); }
  [[nodiscard]] std::int64_t label_of(std::int64_t row) const {
    return inputs_[1].dtype == DType::int64 ? inputs_[1].data<std::int64_t>()[row]
                                            : inputs_[1].data<std::int32_t>()[row];
  }
  /// Throws the reference backend's error for the first invalid label, by running the reference loop.
  void refuse() const {
    std::vector<Tensor> inputs;
    for (const Operand& input : inputs_) inputs.push_back(view_of(input));
    const std::array outputs{view_of(out_)};
    evaluate(node_, graph_, inputs, outputs);
  }

  const graph::Node& node_;
  const graph::Graph& graph_;
  std::vector<Operand> inputs_;
  Operand out_;
  std::int64_t classes_, rows_;
  Team team_;
};

class Loss final : public CrossEntropy {
 public:
  using CrossEntropy::CrossEntropy;

 private:
  void by_label(std::int64_t row, std::int64_t label) override {
    out()[row] = logsumexp(logits(row), classes()) - logits(row)[label];
  }
  void by_probabilities(std::int64_t row, const float* p) override {
    out()[row] = expected(logits(row), p, logsumexp(logits(row), classes()), classes());
  }
};

class LossGrad final : public CrossEntropy {
 public:
  using CrossEntropy::CrossEntropy;

 private:
  void by_label(std::int64_t row, std::int64_t label) override {
    const float dy = input(2).data<float>()[row];
    float* const dx = out() + row * classes();
    shares(logits(row), logsumexp(logits(row), classes()), dy, dx, classes());
    dx[label] -= dy;
  }
  void by_probabilities(std::int64_t row, const float* p) override {
    const float dy = input(2).data<float>()[row];
    float* const dx = out() + row * classes();
    shares(logits(row), logsumexp(logits(row), classes()), dy * sum_row(p, classes()), dx, classes());
    take_away(dx, p, dy, classes());
  }
};

std::string why_not(const StepInfo& step) {
  const DType labels = step.inputs[1].dtype;
  const bool takes = labels == DType::int32 || labels == DType::int64 || labels == DType::float32;
  return takes ? "" : "no kernel here for labels of this dtype";
}

}  // namespace

Kernels kernels_of(const graph::SoftmaxCrossEntropy&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, no_memory, make_as<Loss>}};
  return kKernels;
}

Kernels kernels_of(const graph::SoftmaxCrossEntropyGrad&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, no_memory, make_as<LossGrad>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
