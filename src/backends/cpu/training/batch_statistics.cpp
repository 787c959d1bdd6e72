// Batch normalization with batch statistics, and its gradient, with x as (outer, C, inner). Sums are in double because
// of cancellation.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel.h"
#include "operations/doubles.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Rows of C numbers, one per channel. A row whose byte in `counts` is 0 is ignored; with null all rows count.
struct Rows {
  const float* x;
  const std::uint8_t* counts;
  std::int64_t rows, width;
  [[nodiscard]] bool at(std::int64_t row) const { return counts == nullptr || counts[row] != 0; }
};

ATTN_VECTORIZED(void, sum_rows, const Rows& in, double* sums) {
  for (std::int64_t r = 0; r < in.rows; ++r) {
    if (!in.at(r)) continue;
    const float* const x = in.x + r * in.width;
    for (std::int64_t c = 0; c < in.width; ++c) sums[c] += static_cast<double>(x[c]);
  }
}
ATTN_VECTORIZED(void, sum_squares, const Rows& in, const double* means, double* sums) {
  for (std::int64_t r = 0; r < in.rows; ++r) {
    if (!in.at(r)) continue;
    const float* const x = in.x + r * in.width;
    for (std::int64_t c = 0; c < in.width; ++c) {
      const double distance = static_cast<double>(x[c]) - means[c];
      sums[c] += distance * distance;
    }
  }
}
ATTN_VECTORIZED(void, normalize_rows, const Rows& in, const double* means, const double* factors, const double* shifts,
                float* y) {
  for (std::int64_t r = 0; r < in.rows; ++r) {
    const float* const x = in.x + r * in.width;
    float* const to = y + r * in.width;
    for (std::int64_t c = 0; c < in.width; ++c)
      to[c] = static_cast<float>((static_cast<double>(x[c]) - means[c]) * factors[c] + shifts[c]);
  }
}

/// Computes Σ dy, Σ dy·x̂ and Σ x̂ of the counted rows per channel, as three consecutive arrays of C numbers.
ATTN_VECTORIZED(void, sum_gradients, const Rows& in, const float* gradients, const double* means,
                const double* inverses, double* sums) {
  double *const dys = sums, *const products = sums + in.width, *const distances = sums + 2 * in.width;
  for (std::int64_t r = 0; r < in.rows; ++r) {
    const float *const x = in.x + r * in.width, *const dy = gradients + r * in.width;
    const double counts = in.at(r) ? 1.0 : 0.0;
    for (std::int64_t c = 0; c < in.width; ++c) {
      const double normalized = (static_cast<double>(x[c]) - means[c]) * inverses[c];
      dys[c] += static_cast<double>(dy[c]);
      products[c] += static_cast<double>(dy[c]) * normalized;
      distances[c] += counts * normalized;
    }
  }
}

/// Terms of the gradient for each channel, C numbers each: dx = (dy − of_mean − x̂·of_variance)·factor. Ignored rows
/// omit of_mean and of_variance.
struct Slopes {
  const double *means, *inverses, *of_means, *of_variances, *factors;
};
ATTN_VECTORIZED(void, go_back_rows, const Rows& in, const float* gradients, const Slopes& by, float* dx) {
  for (std::int64_t r = 0; r < in.rows; ++r) {
    const float *const x = in.x + r * in.width, *const dy = gradients + r * in.width;
    float* const to = dx + r * in.width;
    if (!in.at(r)) {
      for (std::int64_t c = 0; c < in.width; ++c)
        to[c] = static_cast<float>(static_cast<double>(dy[c]) * by.factors[c]);
      continue;
    }
    for (std::int64_t c = 0; c < in.width; ++c) {
      const double normalized = (static_cast<double>(x[c]) - by.means[c]) * by.inverses[c];
      to[c] = static_cast<float>((static_cast<double>(dy[c]) - by.of_means[c] - normalized * by.of_variances[c]) *
                                 by.factors[c]);
    }
  }
}

/// Returns the sum over contiguous numbers. f(i, part) computes the terms of numbers i to i + 7 in `part`; terms beyond
/// `size` are ignored.
template <typename Function>
[[gnu::always_inline]] inline double sum_in_halves(std::int64_t size, const Function& f) {
  Doubles sums{};
  for (std::int64_t i = 0; i < size; i += kHalf) {
    Doubles part;
    f(i, part);
    for (auto lane = static_cast<int>(std::min<std::int64_t>(size - i, kHalf)); lane < kHalf; ++lane) part[lane] = 0.0;
    sums += part;
  }
  return sum_of_halves(sums);
}

// Sums over `size` contiguous numbers of one channel.
ATTN_VECTORIZED(double, sum_of_run, const float* x, std::int64_t size) {
  return sum_in_halves(
      size, [&](std::int64_t i, Doubles & part) __attribute__((always_inline)) { load_some(x + i, size - i, part); });
}
ATTN_VECTORIZED(double, squares_of_run, const float* x, double mean, std::int64_t size) {
  return sum_in_halves(
      size, [&](std::int64_t i, Doubles & part) __attribute__((always_inline)) {
        load_some(x + i, size - i, part);
        part -= mean;
        part *= part;
      });
}
ATTN_VECTORIZED(double, products_of_run, const float* x, const float* dy, double mean, std::int64_t size) {
  return sum_in_halves(
      size, [&](std::int64_t i, Doubles & part) __attribute__((always_inline)) {
        Doubles gradient;
        load_some(x + i, size - i, part);
        load_some(dy + i, size - i, gradient);
        part = (part - mean) * gradient;
      });
}
ATTN_VECTORIZED(void, normalize_run, const float* x, double mean, double factor, double shift, float* y,
                std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i)
    y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * factor + shift);
}
ATTN_VECTORIZED(void, go_back_run, const float* x, const float* dy, double mean, double of_mean, double of_distance,
                double factor, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double distance = static_cast<double>(x[i]) - mean;
    dx[i] = static_cast<float>((static_cast<double>(dy[i]) - of_mean - distance * of_distance) * factor);
  }
}

/// Each block has sums of its own, which are added in the order of the blocks, so that the result does not depend on
/// threads. A block is a range of rows if a channel's numbers are strided, otherwise one outer index.
constexpr std::int64_t kLeastRowsOfBlock = 32, kMostBlocksOfRows = 64;

struct BatchSize {
  BatchSize(const graph::BatchNormTraining& op, const Shape& x) {
    const int axis = op.axis < 0 ? op.axis + x.rank() : op.axis;
    is_last = axis == x.rank() - 1;
    channels = x[axis];
    inner = x.slice(axis + 1, x.rank()).size();
    outer = x.size() / (channels * inner);
    blocks = inner > 1 ? outer : std::clamp<std::int64_t>(outer / kLeastRowsOfBlock, 1, kMostBlocksOfRows);
  }
  /// Returns the bytes of `sums` sums (at most three) for each block and channel.
  [[nodiscard]] std::int64_t scratch(std::int64_t sums) const {
    return bytes_times({blocks, sums, channels, bytes_of(DType::float64)});
  }
  std::int64_t outer, channels, inner, blocks;
  bool is_last;
};

/// The reduction that both kernels need: sums per channel over all blocks.
class Statistics {
 public:
  Statistics(const Step& step, const graph::BatchNormTraining& op, std::int64_t sums)
      : size(op, step.inputs[0].shape), engine_(step.engine) {
    engine_.scratch.reserve(size.scratch(sums));
    team = engine_.team_for(12.0 * static_cast<double>(step.inputs[0].size()));
    totals_.resize(static_cast<std::size_t>(sums * size.channels));
  }

  /// Calls of_rows(first row, rows, sums) for blocks of rows, or of_run(offset of the channel's first number, channel,
  /// its sum). The sums are `size.channels` apart. Returns the totals: C numbers for each sum.
  template <typename OfRows, typename OfRun>
  const double* totals(std::int64_t sums, const OfRows& of_rows, const OfRun& of_run) {
    const std::int64_t numbers = sums * size.channels;
    auto* const parts = reinterpret_cast<double*>(engine_.scratch.get());
    std::fill_n(parts, size.blocks * numbers, 0.0);
    if (size.inner == 1) {
      parallel_for(size.blocks, team, [&](std::int64_t block, int) {
        const std::int64_t first = size.outer * block / size.blocks, end = size.outer * (block + 1) / size.blocks;
        of_rows(first, end - first, parts + block * numbers);
      });
    } else {
      parallel_ranges(size.outer * size.channels, team, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t c = i % size.channels;
          of_run(i * size.inner, c, parts + i / size.channels * numbers + c);
        }
      });
    }
    std::copy_n(parts, numbers, totals_.begin());
    for (std::int64_t block = 1; block < size.blocks; ++block)
      for (std::int64_t i = 0; i < numbers; ++i) totals_[static_cast<std::size_t>(i)] += parts[block * numbers + i];
    return totals_.data();
  }

  /// Calls of_rows(first row, rows), or of_run(offset of the channel's first number, channel), for all numbers.
  template <typename OfRows, typename OfRun>
  void for_all(const OfRows& of_rows, const OfRun& of_run) const {
    if (size.inner == 1) {
      parallel_ranges(size.outer, team, [&](std::int64_t begin, std::int64_t end) { of_rows(begin, end - begin); });
      return;
    }
    parallel_ranges(size.outer * size.channels, team, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) of_run(i * size.inner, static_cast<std::size_t>(i % size.channels));
    });
  }

  /// Returns the number of elements in each channel's sum.
  [[nodiscard]] double number(const std::uint8_t* counts) const {
    constexpr double kKerasEpsilon = 1e-7;
    if (counts == nullptr) return static_cast<double>(size.outer * size.inner);
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < size.outer; ++r) count += counts[r] != 0 ? 1 : 0;
    return static_cast<double>(count) + kKerasEpsilon;
  }

  BatchSize size;
  Team team;

 private:
  Engine& engine_;
  std::vector<double> totals_;
};

class BatchNormTrainingKernel final : public Kernel {
 public:
  explicit BatchNormTrainingKernel(const Step& step)
      : op_(step.op<graph::BatchNormTraining>()),
        statistics_(step, op_, 1),
        inputs_(step.inputs),
        outputs_(step.outputs) {
    for (std::vector<double>* each : {&means_, &factors_, &shifts_})
      each->resize(static_cast<std::size_t>(statistics_.size.channels));
  }

  void run() override {
    const BatchSize& size = statistics_.size;
    const std::uint8_t* const counts = op_.mask ? inputs_.back().data<std::uint8_t>() : nullptr;
    const float* const x = inputs_[0].data<float>();
    float* const y = outputs_[0].data<float>();
    const auto rows = [&](std::int64_t first, std::int64_t count) {
      return Rows{x + first * size.channels, counts == nullptr ? nullptr : counts + first, count, size.channels};
    };
    const double n = statistics_.number(counts);
    const double* totals = statistics_.totals(
        1, [&](std::int64_t first, std::int64_t count, double* sums) { sum_rows(rows(first, count), sums); },
        [&](std::int64_t place, std::int64_t, double* sum) { *sum = sum_of_run(x + place, size.inner); });
    for (std::size_t c = 0; c < means_.size(); ++c) means_[c] = totals[c] / n;
    totals = statistics_.totals(
        1,
        [&](std::int64_t first, std::int64_t count, double* sums) {
          sum_squares(rows(first, count), means_.data(), sums);
        },
        [&](std::int64_t place, std::int64_t c, double* sum) {
          *sum = squares_of_run(x + place, means_[static_cast<std::size_t>(c)], size.inner);
        });
    for (std::size_t c = 0; c < means_.size(); ++c) {
      const double variance = totals[c] / n;
      factors_[c] =
          (op_.scale ? static_cast<double>(inputs_[1].data<float>()[c]) : 1.0) / std::sqrt(variance + op_.epsilon);
      shifts_[c] = op_.center ? static_cast<double>(inputs_[op_.scale ? 2 : 1].data<float>()[c]) : 0.0;
      outputs_[1].data<float>()[c] = static_cast<float>(means_[c]);
      outputs_[2].data<float>()[c] = static_cast<float>(variance);
    }
    statistics_.for_all(
        [&](std::int64_t first, std::int64_t count) {
          normalize_rows(rows(first, count), means_.data(), factors_.data(), shifts_.data(), y + first * size.channels);
        },
        [&](std::int64_t place, std::size_t c) {
          normalize_run(x + place, means_[c], factors_[c], shifts_[c], y + place, size.inner);
        });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(4 * means_.size() * sizeof(double));
  }

 private:
  graph::BatchNormTraining op_;
  Statistics statistics_;
  std::vector<Operand> inputs_, outputs_;
  std::vector<double> means_, factors_, shifts_;  // for each channel
};

class BatchNormGradKernel final : public Kernel {
 public:
  explicit BatchNormGradKernel(const Step& step)
      : op_(step.op<graph::BatchNormGrad>().forward),
        statistics_(step, op_, 3),
        inputs_(step.inputs),
        outputs_(step.outputs) {
    for (std::vector<double>* each : {&means_, &inverses_, &of_means_, &of_variances_, &factors_})
      each->resize(static_cast<std::size_t>(statistics_.size.channels));
  }

  void run() override {
    const BatchSize& size = statistics_.size;
    const std::size_t given = inputs_.size() - 3;  // the last three inputs are mean, variance and dy
    const std::uint8_t* const counts = op_.mask ? inputs_[given - 1].data<std::uint8_t>() : nullptr;
    const float *const x = inputs_[0].data<float>(), *const dy = inputs_.back().data<float>();
    float* const dx = outputs_[0].data<float>();
    for (std::size_t c = 0; c < means_.size(); ++c) {
      means_[c] = static_cast<double>(inputs_[given].data<float>()[c]);
      inverses_[c] = 1.0 / std::sqrt(static_cast<double>(inputs_[given + 1].data<float>()[c]) + op_.epsilon);
    }
    const auto rows = [&](std::int64_t first, std::int64_t count) {
      return Rows{x + first * size.channels, counts == nullptr ? nullptr : counts + first, count, size.channels};
    };
    const double* const totals = statistics_.totals(
        3,
        [&](std::int64_t first, std::int64_t count, double* sums) {
          sum_gradients(rows(first, count), dy + first * size.channels, means_.data(), inverses_.data(), sums);
        },
        [&](std::int64_t place, std::int64_t channel, double* sum) {
          const auto c = static_cast<std::size_t>(channel);
          sum[0] = sum_of_run(dy + place, size.inner);
          sum[size.channels] = products_of_run(x + place, dy + place, means_[c], size.inner) * inverses_[c];
          const double sum_of_x = sum_of_run(x + place, size.inner);
          sum[2 * size.channels] = (sum_of_x - static_cast<double>(size.inner) * means_[c]) * inverses_[c];
        });
    take(totals, statistics_.number(counts));
    statistics_.for_all(
        [&](std::int64_t first, std::int64_t count) {
          const Slopes by{means_.data(), inverses_.data(), of_means_.data(), of_variances_.data(), factors_.data()};
          go_back_rows(rows(first, count), dy + first * size.channels, by, dx + first * size.channels);
        },
        [&](std::int64_t place, std::size_t c) {
          go_back_run(x + place, dy + place, means_[c], of_means_[c], inverses_[c] * of_variances_[c], factors_[c],
                      dx + place, size.inner);
        });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(8 * means_.size() * sizeof(double));
  }

 private:
  /// Writes dgamma and dbeta, and computes the terms of dx from the totals.
  void take(const double* totals, double n) {
    const auto channels = static_cast<std::size_t>(statistics_.size.channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const double sum = totals[c], product = totals[channels + c], distances = totals[2 * channels + c];
      of_variances_[c] = product / n;
      of_means_[c] = (sum - of_variances_[c] * distances) / n;
      factors_[c] = op_.scale ? static_cast<double>(inputs_[1].data<float>()[c]) * inverses_[c] : inverses_[c];
      if (op_.scale) outputs_[1].data<float>()[c] = static_cast<float>(product);
      if (op_.center) outputs_.back().data<float>()[c] = static_cast<float>(sum);
    }
  }

  graph::BatchNormTraining op_;
  Statistics statistics_;
  std::vector<Operand> inputs_, outputs_;
  std::vector<double> means_, inverses_, of_means_, of_variances_, factors_;  // for each channel
};

std::string why_not(const graph::BatchNormTraining& op, const StepInfo& step) {
  return op.mask && !BatchSize(op, step.inputs[0].shape).is_last ? "it has a mask, and channels not last" : "";
}
std::string why_not_statistics(const StepInfo& step) { return why_not(step.op<graph::BatchNormTraining>(), step); }
std::string why_not_statistics_grad(const StepInfo& step) {
  return why_not(step.op<graph::BatchNormGrad>().forward, step);
}

/// Returns the needs of the kernels, which hold a few doubles per channel.
MemoryNeeds needs_of(const BatchSize& size, std::int64_t sums, std::int64_t held) {
  MemoryNeeds needs;
  needs.held = bytes_times({held, size.channels, bytes_of(DType::float64)});
  needs.scratch = size.scratch(sums);
  return needs;
}
MemoryNeeds statistics_needs(const StepInfo& step) {
  return needs_of(BatchSize(step.op<graph::BatchNormTraining>(), step.inputs[0].shape), 1, 4);
}
MemoryNeeds statistics_grad_needs(const StepInfo& step) {
  return needs_of(BatchSize(step.op<graph::BatchNormGrad>().forward, step.inputs[0].shape), 3, 8);
}

}  // namespace

Kernels kernels_of(const graph::BatchNormTraining&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not_statistics, statistics_needs, make_as<BatchNormTrainingKernel>}};
  return kKernels;
}

Kernels kernels_of(const graph::BatchNormGrad&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not_statistics_grad, statistics_grad_needs, make_as<BatchNormGradKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
