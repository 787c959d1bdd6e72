// The gradient of layer normalization over the last axes.
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "operations/doubles.h"
#include "operations/loops.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::NormKind;

/// One row: its dx, and its contributions to dgamma and dbeta. Each of these, and gamma, may be null.
struct NormRow {
  NormKind kind;
  float epsilon;
  const float *x, *gamma, *dy;
  float *dx, *dgamma, *dbeta;
  std::int64_t size;
};

/// With x̂ the normalized number and g = dy·gamma, dx = (g − mean(g) − x̂·mean(g·x̂))/√(spread + ε). Because of
/// cancellation it is computed in double and rounded once. The first pass sums numbers relative to the row's first
/// number. That number is at most √size deviations from the mean, so squares keep at least 40 bits. The second pass
/// writes.
ATTN_VECTORIZED(void, go_back, const NormRow& row) {
  const std::int64_t size = row.size, whole = size - size % kHalf;
  const auto count = static_cast<double>(size);
  const auto for_all = [&](const auto& f) __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < whole; i += kHalf) f(i, kHalf);
    if (whole < size) f(whole, static_cast<int>(size - whole));
  };
  const auto gradient = [&](std::int64_t i, int left, Doubles& dy, Doubles& g) __attribute__((always_inline)) {
    load_some(row.dy + i, left, dy);
    g = dy;
    if (row.gamma == nullptr) return;
    Doubles gamma;
    load_some(row.gamma + i, left, gamma);
    g *= gamma;
  };
  const double first = row.kind == NormKind::rms ? 0.0 : static_cast<double>(row.x[0]);
  Doubles sums{}, squares{}, gradients{}, products{};
  for_all([&](std::int64_t i, int left) __attribute__((always_inline)) {
    Doubles x, dy, g;
    load_some(row.x + i, left, x);
    x -= first;
    for (int lane = left; lane < kHalf; ++lane) x[lane] = 0.0;
    gradient(i, left, dy, g);
    sums += x;
    squares += x * x;
    gradients += g;  // g is 0 after the last number
    products += g * x;
  });
  const double off = row.kind == NormKind::rms ? 0.0 : sum_of_halves(sums) / count, mean = first + off;
  const double spread = std::max(sum_of_halves(squares) / count - off * off, 0.0);
  const double inverse = 1.0 / std::sqrt(spread + static_cast<double>(row.epsilon));
  const double shift = row.kind == NormKind::layer ? mean : 0.0, all = sum_of_halves(gradients);
  const double sum = row.kind == NormKind::layer ? all / count : 0.0;
  const double product = (sum_of_halves(products) - (shift - first) * all) * inverse / count;
  for_all([&](std::int64_t i, int left) __attribute__((always_inline)) {
    Doubles x, dy, g, factors;
    load_some(row.x + i, left, x);
    gradient(i, left, dy, g);
    if (row.dbeta != nullptr) {
      load_some(row.dbeta + i, left, factors);
      factors += dy;
      store_some(factors, left, row.dbeta + i);
    }
    if (row.dgamma != nullptr) {
      load_some(row.dgamma + i, left, factors);
      factors += dy * ((x - shift) * inverse);
      store_some(factors, left, row.dgamma + i);
    }
    g = (g - sum - (x - mean) * inverse * product) * inverse;
    store_some(g, left, row.dx + i);
  });
}

/// Each block of rows has sums of its own. They are added in the order of the blocks, so that the result does not
/// depend on threads.
constexpr std::int64_t kLeastRows = 16, kMostBlocks = 64;
/// The cost of an element, in operations of a product.
constexpr double kWork = 128.0;

struct NormSize {
  explicit NormSize(const StepInfo& step) {
    const Shape& x = step.inputs[0].shape;
    for (const int axis : step.op<graph::LayerNormGrad>().forward.axes) length *= x[axis];
    rows = x.size() / length;
    blocks = std::clamp<std::int64_t>((rows + kLeastRows - 1) / kLeastRows, 1, kMostBlocks);
    const auto& forward = step.op<graph::LayerNormGrad>().forward;
    sums = (forward.scale ? length : 0) + (forward.center ? length : 0);
  }
  [[nodiscard]] std::int64_t scratch() const { return bytes_times({blocks, sums, bytes_of(DType::float32)}); }
  std::int64_t length = 1, rows, blocks, sums;
};

class LayerNormGradKernel final : public Kernel {
 public:
  explicit LayerNormGradKernel(const Step& step)
      : op_(step.op<graph::LayerNormGrad>().forward),
        size_(step),
        x_(step.inputs[0]),
        gamma_(step.inputs[1]),
        dy_(step.inputs.back()),
        outputs_(step.outputs),
        engine_(step.engine),
        team_(step.engine.team_for(kWork * static_cast<double>(x_.size()))) {
    engine_.scratch.reserve(size_.scratch());
  }

  void run() override {
    auto* const scratch = reinterpret_cast<float*>(engine_.scratch.get());
    const std::int64_t length = size_.length;
    parallel_for(size_.blocks, team_, [&](std::int64_t block, int) {
      float* const sums = scratch + block * size_.sums;
      std::fill_n(sums, size_.sums, 0.0F);
      NormRow row{op_.kind, static_cast<float>(op_.epsilon), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                  length};
      if (op_.scale) row.gamma = gamma_.data<float>();
      if (op_.scale) row.dgamma = sums;
      if (op_.center) row.dbeta = sums + (op_.scale ? length : 0);
      const std::int64_t end = size_.rows * (block + 1) / size_.blocks;
      for (std::int64_t i = size_.rows * block / size_.blocks; i < end; ++i) {
        row.x = x_.data<float>() + i * length;
        row.dy = dy_.data<float>() + i * length;
        row.dx = outputs_[0].data<float>() + i * length;
        go_back(row);
      }
    });
    for (std::size_t o = 1; o < outputs_.size(); ++o) {
      const float* const first = scratch + (static_cast<std::int64_t>(o) - 1) * length;
      float* const total = outputs_[o].data<float>();
      std::copy_n(first, length, total);
      for (std::int64_t block = 1; block < size_.blocks; ++block) add_to(total, first + block * size_.sums, length);
    }
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  graph::LayerNorm op_;
  NormSize size_;
  Operand x_, gamma_, dy_;
  std::vector<Operand> outputs_;
  Engine& engine_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const auto& axes = step.op<graph::LayerNormGrad>().forward.axes;
  const int first = step.inputs[0].shape.rank() - static_cast<int>(axes.size());
  if (axes.front() != first) return "the axes are not the last ones";
  // For a single number, cancellation is total, and no float32 result is accurate.
  return NormSize(step).length > 1 ? "" : "it normalizes single numbers";
}

MemoryNeeds needs_of(const StepInfo& step) {
  MemoryNeeds needs;
  needs.scratch = NormSize(step).scratch();
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::LayerNormGrad&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, needs_of, make_as<LayerNormGradKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
