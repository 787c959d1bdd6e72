// Layer normalization and its root-mean-square forms, a warp per row; batch normalization with stored statistics.
#include <cmath>

#include "device.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::NormKind;

template <typename Number>
__global__ void layer_norm_kernel(NormKind kind, Rows rows, Array x, Array gamma, Array beta, Number epsilon, Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t row = warp_index();
  if (row >= rows.starts.count) return;
  const std::int64_t start = rows.starts.at(row).of[0];
  const std::int64_t count = rows.along.count;
  const auto divisor = static_cast<Number>(count);
  const auto at = [&](std::int64_t j) { return start + rows.along.at(j).of[0]; };

  Number mean{};
  if (kind != NormKind::rms) {
    for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) mean += load<Number>(x, at(j));
    mean = warp_sum(mean) / divisor;
  }
  Number spread{};  // the variance, or the mean square for rms
  for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) {
    const Number distance = load<Number>(x, at(j)) - mean;
    spread += distance * distance;
  }
  spread = warp_sum(spread) / divisor;
  const Number inverse = Number(1) / std::sqrt(spread + epsilon);
  const Number shift = kind == NormKind::layer ? mean : Number{};
  for (std::int64_t j = lane_index(); j < count; j += kWarpThreads) {
    Number number = (load<Number>(x, at(j)) - shift) * inverse;
    if (gamma.data != nullptr) number *= load<Number>(gamma, j);
    if (beta.data != nullptr) number += load<Number>(beta, j);
    store(y, at(j), number);
  }
}

/// x (outer, channels, inner)
struct BatchNormOperands {
  Array x, mean, variance;
  Array gamma, beta;  ///< or null
  Array y;
  std::int64_t count = 0, channels = 1, inner = 1;
};

template <typename Number>
__global__ void batch_norm_kernel(BatchNormOperands in, Number epsilon) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= in.count) return;
  const std::int64_t channel = divide(divide(i, in.inner).quotient, in.channels).remainder;
  Number number = load<Number>(in.x, i) - load<Number>(in.mean, channel);
  if (in.gamma.data != nullptr) number *= load<Number>(in.gamma, channel);
  number /= std::sqrt(load<Number>(in.variance, channel) + epsilon);
  if (in.beta.data != nullptr) number += load<Number>(in.beta, channel);
  store(in.y, i, number);
}

}  // namespace

Choice make_plain(const graph::LayerNorm& op, const Step& step) {
  const auto rows = rows_of(step.inputs[0].shape, op.axes);
  if (!rows) return too_many_axes();
  const Array gamma = op.scale ? array_of(step.inputs[1]) : Array{};
  const Array beta = op.center ? array_of(step.inputs.back()) : Array{};
  return {"plain", [=, kind = op.kind, epsilon = op.epsilon, rows = *rows, x = array_of(step.inputs[0]),
                    y = array_of(step.outputs[0])](cudaStream_t stream) {
            with_float_of(x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              check(launch(layer_norm_kernel<Number>, warp_each(rows.starts.count), stream, kind, rows, x, gamma, beta,
                           static_cast<Number>(epsilon), y),
                    "layer norm");
            });
          }};
}

Choice make_plain(const graph::BatchNorm& op, const Step& step) {
  const Shape& shape = step.inputs[0].shape;
  const int axis = op.axis < 0 ? op.axis + shape.rank() : op.axis;
  BatchNormOperands operands;
  operands.x = array_of(step.inputs[0]);
  operands.mean = array_of(step.inputs[1]);
  operands.variance = array_of(step.inputs[2]);
  if (op.scale) operands.gamma = array_of(step.inputs[3]);
  if (op.center) operands.beta = array_of(step.inputs.back());
  operands.y = array_of(step.outputs[0]);
  operands.count = shape.size();
  operands.channels = shape[axis];
  operands.inner = shape.slice(axis + 1, shape.rank()).size();
  return {"plain", [operands, epsilon = op.epsilon](cudaStream_t stream) {
            with_float_of(operands.x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              check(launch(batch_norm_kernel<Number>, thread_each(operands.count), stream, operands,
                           static_cast<Number>(epsilon)),
                    "batch norm");
            });
          }};
}

}  // namespace attn::cuda
