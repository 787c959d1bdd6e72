// The generalized delta rule: one thread per value of a head, which keeps its row of the state in the output array.
//
// B samples, T steps, H heads, K keys, V values.
#include <cstdint>

#include "delta_rule.h"
#include "device.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

struct Delta {
  std::int64_t samples = 0, steps = 0, heads = 0, keys = 0, values = 0;
  Array query, decay, key, value, a, b;  ///< (B, T, H, K); value (B, T, H, V)
  Array first;                           ///< (B, H, V, K)
  Array output, last;                    ///< (B, T, H, V), (B, H, V, K)
  std::byte* state = nullptr;            ///< (B, H, V, K) in the type of the arithmetic
};

template <typename Number>
__global__ void delta_rule_kernel(Delta d) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t row = thread_index();
  if (row >= d.samples * d.heads * d.values) return;
  const auto [of_head, value] = divide(row, d.values);
  const auto [sample, head] = divide(of_head, d.heads);
  auto* const state = reinterpret_cast<Number*>(d.state) + row * d.keys;
  for (std::int64_t j = 0; j < d.keys; ++j) state[j] = load<Number>(d.first, row * d.keys + j);
  for (std::int64_t t = 0; t < d.steps; ++t) {
    const std::int64_t vector = (sample * d.steps + t) * d.heads + head, at = vector * d.keys;
    const std::int64_t to = vector * d.values + value;
    const Number v = load<Number>(d.value, to);
    Number read{}, output{};
    for (std::int64_t j = 0; j < d.keys; ++j) read += state[j] * load<Number>(d.a, at + j);
    for (std::int64_t j = 0; j < d.keys; ++j) {
      state[j] =
          state[j] * load<Number>(d.decay, at + j) + read * load<Number>(d.b, at + j) + v * load<Number>(d.key, at + j);
      output += state[j] * load<Number>(d.query, at + j);
    }
    store(d.output, to, output);
  }
  for (std::int64_t j = 0; j < d.keys; ++j) store(d.last, row * d.keys + j, state[j]);
}

}  // namespace

std::int64_t delta_rule_scratch_bytes(const Shape& state, DType dtype) {
  return state.size() * (dtype == DType::float64 ? 8 : 4);
}

Choice make_plain(const graph::DeltaRule&, const Step& step) {
  const Shape& query = step.inputs[0].shape;
  Delta d;
  d.samples = query[0];
  d.steps = query[1];
  d.heads = query[2];
  d.keys = query[3];
  d.values = step.inputs[3].shape[3];
  Array* const arrays[] = {&d.query, &d.decay, &d.key, &d.value, &d.a, &d.b, &d.first};
  for (std::size_t i = 0; i < std::size(arrays); ++i) *arrays[i] = array_of(step.inputs[i]);
  d.output = array_of(step.outputs[0]);
  d.last = array_of(step.outputs[1]);
  step.scratch.reserve(delta_rule_scratch_bytes(step.inputs[6].shape, d.query.dtype));
  return {"plain", [d, &scratch = step.scratch](cudaStream_t stream) {
            Delta now = d;
            now.state = scratch.data;
            const std::int64_t rows = d.samples * d.heads * d.values;
            with_float_of(d.query.dtype, [&](auto zero) {
              using Number = decltype(zero);
              if (rows > 0) check(launch(delta_rule_kernel<Number>, thread_each(rows), stream, now), "delta rule");
            });
          }};
}

}  // namespace attn::cuda
