// Max and average pooling, and their gradients, with x as (B, cells, C) and 1 to 3 spatial axes.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "attn/graph/window.h"
#include "doubles.h"
#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using Sizes = std::array<std::int64_t, 3>;

/// The cells [first, end) along three axes.
struct Box {
  Sizes first, end;
  [[nodiscard]] std::int64_t cells() const { return (end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]); }
};

/// The geometry of windows. Fewer axes are extended to three by leading axes of size 1.
struct PoolGrid {
  PoolGrid(const graph::Pool& op, const Shape& x, const Shape& y) : batch(x[0]), channels(x.back()) {
    const std::size_t offset = 3 - op.window.size();
    for (std::size_t axis = 0; axis < op.window.size(); ++axis) {
      const std::size_t a = offset + axis;
      input[a] = x[static_cast<int>(axis) + 1];
      output[a] = y[static_cast<int>(axis) + 1];
      window[a] = op.window[axis];
      stride[a] = op.strides[axis];
      before[a] = graph::windows_of(input[a], window[a], stride[a], 1, op.padding).before;
    }
  }

  /// Returns the cells covered by the window at `position`.
  [[nodiscard]] Box cells_of(const Sizes& position) const {
    Box box{};
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t first = position[a] * stride[a] - before[a];
      box.first[a] = std::max<std::int64_t>(first, 0);
      box.end[a] = std::max(box.first[a], std::min(first + window[a], input[a]));
    }
    return box;
  }
  /// Returns the windows that cover the cell.
  [[nodiscard]] Box windows_with(const Sizes& cell) const {
    Box box{};
    for (std::size_t a = 0; a < 3; ++a) {
      const std::int64_t last = cell[a] + before[a], first = last - window[a] + 1;
      box.first[a] = first <= 0 ? 0 : (first + stride[a] - 1) / stride[a];
      box.end[a] = std::max(box.first[a], std::min(last / stride[a] + 1, output[a]));
    }
    return box;
  }
  [[nodiscard]] static std::int64_t count(const Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }
  /// Returns the coordinates of element i of a row-major array of these sizes.
  [[nodiscard]] static Sizes place(std::int64_t i, const Sizes& sizes) {
    return {i / sizes[2] / sizes[1], i / sizes[2] % sizes[1], i % sizes[2]};
  }

  Sizes input{1, 1, 1}, output{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, before{0, 0, 0};
  std::int64_t batch, channels;
};

/// Calls f(index of the cell) for the cells of a box in an array of these sizes, in order.
template <typename Function>
[[gnu::always_inline]] inline void for_each_cell(const Box& box, const Sizes& sizes, const Function& f) {
  for (std::int64_t i = box.first[0]; i < box.end[0]; ++i) {
    for (std::int64_t j = box.first[1]; j < box.end[1]; ++j) {
      for (std::int64_t k = box.first[2]; k < box.end[2]; ++k) f((i * sizes[1] + j) * sizes[2] + k);
    }
  }
}

// Channels are processed 8 or 16 at a time, and the remaining ones one by one: partial vectors cost more.

/// y (C) = the means of a sample's cells, summed in double, so that finite numbers do not overflow.
ATTN_VECTORIZED(void, mean_of_cells, const float* x, const Box& box, const Sizes& sizes, std::int64_t channels,
                float* y) {
  const auto count = static_cast<double>(box.cells());
  std::int64_t c = 0;
  for (; c + kHalf <= channels; c += kHalf) {
    Doubles sum{};
    for_each_cell(
        box, sizes, [&](std::int64_t cell) __attribute__((always_inline)) {
          Doubles part;
          load_some(x + cell * channels + c, kHalf, part);
          sum += part;
        });
    sum /= count;
    store_some(sum, kHalf, y + c);
  }
  for (; c < channels; ++c) {
    double sum = 0.0;
    for_each_cell(
        box, sizes, [&](std::int64_t cell) __attribute__((always_inline)) {
          sum += static_cast<double>(x[cell * channels + c]);
        });
    y[c] = static_cast<float>(sum / count);
  }
}

/// Computes the maximum of a sample's cells (C), or NaN if there is one. `chosen`, if given, receives the index of the
/// first cell with that value.
ATTN_VECTORIZED(void, largest_of_cells, const float* x, const Box& box, const Sizes& sizes, std::int64_t channels,
                float* y, std::int32_t* chosen) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    Lanes largest = Lanes{} + kLowest;
    Integers where = Integers{} - 1;
    for_each_cell(
        box, sizes, [&](std::int64_t cell) __attribute__((always_inline)) {
          Lanes part;
          load(x + cell * channels + c, part);
          const Integers stays = (largest != largest) | (part <= largest);
          where = (stays & (where >= 0)) ? where : Integers{} + static_cast<std::int32_t>(cell);
          largest = stays ? largest : part;
        });
    if (y != nullptr) store(largest, y + c);
    if (chosen != nullptr) std::memcpy(chosen + c, &where, sizeof where);
  }
  for (; c < channels; ++c) {
    float largest = kLowest;
    std::int32_t where = -1;
    for_each_cell(
        box, sizes, [&](std::int64_t cell) __attribute__((always_inline)) {
          const float part = x[cell * channels + c];
          const bool stays = largest != largest || part <= largest;
          if (!stays || where < 0) where = static_cast<std::int32_t>(cell);
          if (!stays) largest = part;
        });
    if (y != nullptr) y[c] = largest;
    if (chosen != nullptr) chosen[c] = where;
  }
}

/// dx (C) = Σ of the windows' contributions to their cells.
ATTN_VECTORIZED(void, sum_of_windows, const float* shares, const Box& windows, const Sizes& sizes,
                std::int64_t channels, float* dx) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    Lanes sum{};
    for_each_cell(
        windows, sizes, [&](std::int64_t window) __attribute__((always_inline)) {
          Lanes part;
          load(shares + window * channels + c, part);
          sum += part;
        });
    store(sum, dx + c);
  }
  for (; c < channels; ++c) {
    float sum = 0.0F;
    for_each_cell(
        windows,
        sizes, [&](std::int64_t window) __attribute__((always_inline)) { sum += shares[window * channels + c]; });
    dx[c] = sum;
  }
}

/// Computes the gradient of a cell from the windows that cover it. Each window contributes only to the cell that it
/// chose.
ATTN_VECTORIZED(void, gather_chosen, const float* dy, const std::int32_t* chosen, const Box& windows,
                const Sizes& sizes, std::int64_t cell, std::int64_t channels, float* dx) {
  const auto number = static_cast<std::int32_t>(cell);
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    Lanes sum{};
    for_each_cell(
        windows, sizes, [&](std::int64_t window) __attribute__((always_inline)) {
          Lanes part;
          load(dy + window * channels + c, part);
          Integers where;
          std::memcpy(&where, chosen + window * channels + c, sizeof where);
          sum += where == number ? part : Lanes{};
        });
    store(sum, dx + c);
  }
  for (; c < channels; ++c) {
    float sum = 0.0F;
    for_each_cell(
        windows, sizes, [&](std::int64_t window) __attribute__((always_inline)) {
          if (chosen[window * channels + c] == number) sum += dy[window * channels + c];
        });
    dx[c] = sum;
  }
}

class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(const Step& step)
      : average_(step.op<graph::Pool>().average),
        x_(step.inputs[0]),
        y_(step.outputs[0]),
        grid_(step.op<graph::Pool>(), x_.shape, y_.shape) {
    team_ = step.engine.team_for(static_cast<double>(y_.size()) * static_cast<double>(PoolGrid::count(grid_.window)));
  }

  void run() override {
    const std::int64_t positions = PoolGrid::count(grid_.output), channels = grid_.channels;
    parallel_ranges(grid_.batch * positions, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float* const sample = x_.data<float>() + i / positions * PoolGrid::count(grid_.input) * channels;
        const Box box = grid_.cells_of(PoolGrid::place(i % positions, grid_.output));
        float* const y = y_.data<float>() + i * channels;
        if (average_) {
          mean_of_cells(sample, box, grid_.input, channels, y);
        } else {
          largest_of_cells(sample, box, grid_.input, channels, y, nullptr);
        }
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  bool average_;
  Operand x_, y_;
  PoolGrid grid_;
  Team team_;
};

/// The gradient of pooling. Each cell adds the contributions of the windows that cover it, in order. Hence no cell is
/// written by two threads, and sums do not depend on threads.
class PoolGradKernel final : public Kernel {
 public:
  explicit PoolGradKernel(const Step& step)
      : average_(step.op<graph::PoolGrad>().forward.average),
        x_(step.inputs[0]),
        dy_(step.inputs.back()),
        dx_(step.outputs[0]),
        grid_(step.op<graph::PoolGrad>().forward, dx_.shape, dy_.shape),
        engine_(step.engine) {
    engine_.scratch.reserve(scratch_of(step));
    team_ =
        engine_.team_for(2.0 * static_cast<double>(dy_.size()) * static_cast<double>(PoolGrid::count(grid_.window)));
  }

  /// Returns the bytes of scratch memory. It holds the cell that each window chose (max), or each window's contribution
  /// to its cells (average).
  [[nodiscard]] static std::int64_t scratch_of(const StepInfo& step) {
    return bytes_times({step.inputs.back().size(), bytes_of(DType::float32)});
  }

  void run() override {
    const std::int64_t positions = PoolGrid::count(grid_.output), cells = PoolGrid::count(grid_.input);
    const std::int64_t channels = grid_.channels;
    auto* const chosen = reinterpret_cast<std::int32_t*>(engine_.scratch.get());
    auto* const shares = reinterpret_cast<float*>(engine_.scratch.get());
    parallel_ranges(grid_.batch * positions, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Box box = grid_.cells_of(PoolGrid::place(i % positions, grid_.output));
        if (average_) {
          const auto count = static_cast<float>(box.cells());
          const float* const dy = dy_.data<float>() + i * channels;
          for (std::int64_t c = 0; c < channels; ++c) shares[i * channels + c] = dy[c] / count;
        } else {
          const float* const sample = x_.data<float>() + i / positions * cells * channels;
          largest_of_cells(sample, box, grid_.input, channels, nullptr, chosen + i * channels);
        }
      }
    });
    parallel_ranges(grid_.batch * cells, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t cell = i % cells, first = i / cells * positions * channels;
        const Box windows = grid_.windows_with(PoolGrid::place(cell, grid_.input));
        float* const dx = dx_.data<float>() + i * channels;
        if (average_) {
          sum_of_windows(shares + first, windows, grid_.output, channels, dx);
        } else {
          gather_chosen(dy_.data<float>() + first, chosen + first, windows, grid_.output, cell, channels, dx);
        }
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  bool average_;
  Operand x_, dy_, dx_;
  PoolGrid grid_;
  Engine& engine_;
  Team team_;
};

std::string why_not_pool_grad(const StepInfo& step) {
  const Shape& x = step.op<graph::PoolGrad>().input;
  constexpr Dim kMost = std::numeric_limits<std::int32_t>::max();
  return x.slice(1, x.rank() - 1).size() <= kMost ? "" : "a sample has too many cells for the numbers of this kernel";
}

MemoryNeeds pool_grad_needs(const StepInfo& step) {
  MemoryNeeds needs;
  needs.scratch = PoolGradKernel::scratch_of(step);
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::Pool&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, takes_all, no_memory, make_as<PoolKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::PoolGrad&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not_pool_grad, pool_grad_needs, make_as<PoolGradKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
