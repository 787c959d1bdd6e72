// Softmax and related functions, jointly over one or several axes, with one warp per row.
#include <cmath>
#include <limits>

#include "device.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::SoftmaxKind;

/// Computes e^(x − max) / Σ, or x − max − ln Σ. A NaN, or a row of −∞, makes the sum NaN, and with it the whole row.
template <typename Number>
__global__ void softmax_kernel(bool logarithm, Rows rows, Array x, Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t row = warp_index();
  if (row >= rows.starts.count) return;
  const std::int64_t start = rows.starts.at(row).of[0];
  const std::int64_t count = rows.along.count;
  const auto at = [&](std::int64_t j) { return start + rows.along.at(j).of[0]; };

  Number maximum = -std::numeric_limits<Number>::infinity();
  for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) {
    const Number number = load<Number>(x, at(j));
    if (number > maximum) maximum = number;
  }
  maximum = warp_max(maximum);
  Number sum{};
  for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) sum += std::exp(load<Number>(x, at(j)) - maximum);
  sum = warp_sum(sum);
  const Number log_sum = logarithm ? std::log(sum) : Number{};
  for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) {
    const Number shifted = load<Number>(x, at(j)) - maximum;
    store(y, at(j), logarithm ? shifted - log_sum : std::exp(shifted) / sum);
  }
}

/// Computes max(x − τ, 0) with Keras's τ = (Σ c_j − 1)/k over the k largest elements in the support, where c_j is the
/// sum of the j largest. Instead of sorting, each lane counts the rank of its elements among all, so a row of n needs
/// n² reads. Sums are in double, because τ is a sum of sums.
template <typename Number>
__global__ void sparsemax_kernel(Rows rows, Array x, Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t row = warp_index();
  if (row >= rows.starts.count) return;
  const std::int64_t start = rows.starts.at(row).of[0];
  const std::int64_t count = rows.along.count;
  const auto at = [&](std::int64_t j) { return start + rows.along.at(j).of[0]; };

  double support_sum = 0.0, support = 0.0;
  bool has_nan = false;
  for (std::int64_t i = lane_index(); i < count; i += kWarpThreads) {
    const Number number = load<Number>(x, at(i));
    has_nan = has_nan || number != number;
    // Over elements up to this one in descending order; equal elements are ordered by index.
    double sum = 0.0, rank = 0.0;
    for (std::int64_t j = 0; j < count; ++j) {
      const Number other = load<Number>(x, at(j));
      if (other > number || (other == number && j <= i)) {
        sum += static_cast<double>(other);
        rank += 1.0;
      }
    }
    if (static_cast<double>(number) - (sum - 1.0) / rank > 0.0) {
      support_sum += sum;
      support += 1.0;
    }
  }
  has_nan = __any_sync(kWholeWarp, has_nan ? 1 : 0) != 0;
  const double tau = (warp_sum(support_sum) - 1.0) / warp_sum(support);
  for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) {
    const double above = static_cast<double>(load<Number>(x, at(j))) - tau;
    const double result = above < 0.0 ? 0.0 : above;
    store(y, at(j), has_nan ? std::numeric_limits<double>::quiet_NaN() : result);
  }
}

}  // namespace

Choice make_plain(const graph::Softmax& op, const Step& step) {
  const auto rows = rows_of(step.inputs[0].shape, op.axes);
  if (!rows) return too_many_axes();
  return {"plain", [kind = op.kind, rows = *rows, x = array_of(step.inputs[0]),
                    y = array_of(step.outputs[0])](cudaStream_t stream) {
            with_float_of(x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              const LaunchShape shape = warp_each(rows.starts.count);
              if (kind == SoftmaxKind::sparsemax) {
                check(launch(sparsemax_kernel<Number>, shape, stream, rows, x, y), "sparsemax");
              } else {
                const bool logarithm = kind == SoftmaxKind::log_softmax;
                check(launch(softmax_kernel<Number>, shape, stream, logarithm, rows, x, y), "softmax");
              }
            });
          }};
}

}  // namespace attn::cuda
