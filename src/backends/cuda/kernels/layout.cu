// Operations that move elements without changing them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/range.h"
#include "copy.h"
#include "device.h"
#include "fault.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::PadMode;

template <typename Word>
__global__ void copy_kernel(Walk<2> walk, const Word* from, Word* to) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= walk.count) return;
  const auto at = walk.at(i);
  to[at.of[1]] = from[at.of[0]];
}

/// Copies with one thread per element. y is written in order; x is read at `start` plus the offset of the steps.
Choice make_copy(const Operand& x, const Operand& y, Steps steps, std::int64_t start = 0) {
  const auto walk = walk_over<2>({y.shape.dims(), {std::move(steps), steps_of(y.shape)}});
  if (!walk) return too_many_axes();
  const auto bytes = static_cast<int>(bytes_of(x.dtype));
  return {"plain", [copy = Copy{*walk, x.data + start * bytes, y.data, bytes}](cudaStream_t stream) {
            launch_copy(copy, stream);
          }};
}

/// The axes of a Pad, with adjacent unpadded axes merged.
struct Padding {
  PadMode mode = PadMode::constant;
  std::int64_t count = 1;  ///< elements of y
  int rank = 0;
  std::int64_t x_sizes[kMaxAxes] = {}, y_sizes[kMaxAxes] = {}, before[kMaxAxes] = {}, x_steps[kMaxAxes] = {};
};

/// Returns the index, along an axis of `size`, of the element that the padded axis has at position i; negative for the
/// pad value. i may be outside the axis.
__device__ std::int64_t padded_source(PadMode mode, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return i < 0 ? 0 : size - 1;
  // Mirrors at each end. Reflect has the last element once, symmetric has it twice.
  const std::int64_t twice = mode == PadMode::symmetric ? 1 : 0;
  return i < 0 ? -i - twice : 2 * (size - 1) - i + twice;
}

template <typename Element>
__global__ void pad_kernel(Padding pad, Array x, Array y, Element value) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= pad.count) return;
  std::int64_t rest = i, offset = 0;
  bool inside = true;
  for (int axis = pad.rank - 1; axis >= 0; --axis) {
    const Divided split = divide(rest, pad.y_sizes[axis]);
    rest = split.quotient;
    const std::int64_t source = padded_source(pad.mode, split.remainder - pad.before[axis], pad.x_sizes[axis]);
    inside = inside && source >= 0;
    offset += source * pad.x_steps[axis];
  }
  element<Element>(y, i) = inside ? element<Element>(x, offset) : value;
}

template <typename Word>
__global__ void gather_kernel(GatherPlan plan) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= plan.outer * plan.taken * plan.inner) return;
  const Divided place = divide(i, plan.inner), index_place = divide(place.quotient, plan.taken);
  const auto index = load<std::int64_t>(plan.indices, index_place.remainder);
  const std::int64_t row = index < 0 ? index + plan.size : index;
  const bool inside = row >= 0 && row < plan.size;
  if (!inside) plan.report(Fault::index_out_of_range, index, plan.size);
  const std::int64_t from = (index_place.quotient * plan.size + row) * plan.inner + place.remainder;
  reinterpret_cast<Word*>(plan.to)[i] = inside ? reinterpret_cast<const Word*>(plan.from)[from] : Word{};
}

}  // namespace

void launch_copy(const Copy& copy, cudaStream_t stream) {
  const LaunchShape shape = thread_each(copy.walk.count);
  with_unit(copy.unit, [&](auto zero) {
    using Word = decltype(zero);
    check(launch(copy_kernel<Word>, shape, stream, copy.walk, reinterpret_cast<const Word*>(copy.from),
                 reinterpret_cast<Word*>(copy.to)),
          "copy");
  });
}

Choice make_plain(const graph::Reshape&, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  if (x.data == y.data) return {"nothing to do", [](cudaStream_t) {}};
  // A kernel is used rather than cudaMemcpyAsync. In a recorded pass, the next kernel can start early only after a
  // kernel.
  Unit unit;
  unit.must_divide(y.bytes());
  unit.must_divide(x.data);
  unit.must_divide(y.data);
  const auto walk = walk_over<2>({{y.bytes() / unit.bytes()}, {{1}, {1}}});
  if (!walk) return too_many_axes();
  return {"copy",
          [copy = Copy{*walk, x.data, y.data, unit.bytes()}](cudaStream_t stream) { launch_copy(copy, stream); }};
}

Choice make_plain(const graph::Transpose& op, const Step& step) {
  const Steps steps = steps_of(step.inputs[0].shape);
  Steps permuted;
  for (const int axis : op.permutation) permuted.push_back(steps[static_cast<std::size_t>(axis)]);
  return make_copy(step.inputs[0], step.outputs[0], std::move(permuted));
}

Choice make_plain(const graph::Broadcast&, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  return make_copy(x, y, broadcast_steps(x.shape, y.shape));
}

Choice make_plain(const graph::Concat& op, const Step& step) {
  const Operand& y = step.outputs[0];
  const Steps steps = steps_of(y.shape);
  const auto bytes = static_cast<int>(bytes_of(y.dtype));
  std::vector<Copy> copies;
  std::int64_t start = 0;
  for (const Operand& x : step.inputs) {
    const auto walk = walk_over<2>({x.shape.dims(), {steps_of(x.shape), steps}});
    if (!walk) return too_many_axes();
    if (walk->count > 0) copies.push_back({*walk, x.data, y.data + start * bytes, bytes});
    start += x.shape[op.axis] * steps[static_cast<std::size_t>(op.axis)];
  }
  return {"plain", [copies](cudaStream_t stream) {
            for (const Copy& copy : copies) launch_copy(copy, stream);
          }};
}

PickedSteps picked_steps(const graph::Slice& op, const Shape& shape) {
  PickedSteps result{steps_of(shape)};
  for (std::size_t axis = 0; axis < op.ranges.size(); ++axis) {
    const graph::ResolvedSlice picked = graph::pick(op.ranges[axis], shape[static_cast<int>(axis)]);
    result.start += picked.start * result.steps[axis];
    result.steps[axis] *= picked.count > 1 ? picked.step : 0;
  }
  return result;
}

Choice make_plain(const graph::Slice& op, const Step& step) {
  PickedSteps picked = picked_steps(op, step.inputs[0].shape);
  return make_copy(step.inputs[0], step.outputs[0], std::move(picked.steps), picked.start);
}

Choice make_plain(const graph::Pad& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  const Steps steps = steps_of(x.shape);
  Padding pad;
  pad.mode = op.mode;
  pad.count = y.size();
  bool joins = false;
  for (std::size_t axis = 0; axis < op.before.size(); ++axis) {
    const Dim size = x.shape[static_cast<int>(axis)], padded = y.shape[static_cast<int>(axis)];
    const bool joined = joins && size == padded;
    joins = size == padded;
    if (!joined && pad.rank == kMaxAxes) return too_many_axes();
    if (!joined) ++pad.rank;
    const int last = pad.rank - 1;
    pad.x_sizes[last] = joined ? pad.x_sizes[last] * size : size;
    pad.y_sizes[last] = joined ? pad.y_sizes[last] * padded : padded;
    pad.before[last] = op.before[axis];
    pad.x_steps[last] = steps[axis];
  }
  const Tensor value(y.dtype, Shape{1});
  value.set(0, op.value);
  std::uint64_t bits = 0;
  std::memcpy(&bits, value.data(), static_cast<std::size_t>(value.bytes()));
  return {"plain", [pad, bits, x = array_of(x), y = array_of(y)](cudaStream_t stream) {
            with_bytes_of(y.dtype, [&](auto zero) {
              using Element = decltype(zero);
              check(launch(pad_kernel<Element>, thread_each(pad.count), stream, pad, x, y, static_cast<Element>(bits)),
                    "pad");
            });
          }};
}

GatherPlan gather_plan(const graph::Gather& op, const Step& step, int unit) {
  const Shape& table = step.inputs[0].shape;
  GatherPlan plan;
  plan.from = step.inputs[0].data;
  plan.to = step.outputs[0].data;
  plan.indices = array_of(step.inputs[1]);
  plan.outer = table.slice(0, op.axis).size();
  plan.size = table[op.axis];
  plan.taken = step.inputs[1].size();
  plan.inner = table.slice(op.axis + 1, table.rank()).size() * bytes_of(step.inputs[0].dtype) / unit;
  plan.unit = unit;
  plan.report = reporter_of(step);
  return plan;
}

void launch_gather(const GatherPlan& plan, cudaStream_t stream) {
  const LaunchShape shape = thread_each(plan.outer * plan.taken * plan.inner);
  with_unit(plan.unit, [&](auto zero) { check(launch(gather_kernel<decltype(zero)>, shape, stream, plan), "gather"); });
}

Choice make_plain(const graph::Gather& op, const Step& step) {
  const auto bytes = static_cast<int>(bytes_of(step.inputs[0].dtype));
  return {"plain", [plan = gather_plan(op, step, bytes)](cudaStream_t stream) { launch_gather(plan, stream); }};
}

}  // namespace attn::cuda
