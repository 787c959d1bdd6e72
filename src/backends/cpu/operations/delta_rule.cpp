// The generalized delta rule. The values of a head are independent of each other, so a task computes 16 of them over
// all steps, with its part of the state, transposed, in the first cache.
#include <algorithm>

#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kMostKeys = 256;  // a state of 16 KiB for each task

/// Up to 16 values of a head of one sample.
struct Values {
  const float *query, *decay, *key, *a, *b;  ///< (T, K), in steps of `key_step`
  const float* value;                        ///< (T, count), in steps of `value_step`
  const float* first;                        ///< the state before the first step: (count, K)
  float* output;                             ///< (T, count), in steps of `value_step`
  float* last;                               ///< the state after the last step: (count, K)
  std::int64_t steps, keys, count, key_step, value_step;
};

ATTN_VECTORIZED(void, run_steps, const Values& v) {
  Lanes state[kMostKeys];  // lane i of state[j]: value i, key j
  for (std::int64_t j = 0; j < v.keys; ++j) {
    Lanes column{};
    for (std::int64_t i = 0; i < v.count; ++i) column[i] = v.first[i * v.keys + j];
    state[j] = column;
  }
  for (std::int64_t t = 0; t < v.steps; ++t) {
    const std::int64_t at = t * v.key_step;
    const float *const query = v.query + at, *const decay = v.decay + at, *const key = v.key + at, *const a = v.a + at,
                       *const b = v.b + at;
    Lanes value;
    load_some(v.value + t * v.value_step, v.count, value);
    // Four sums each hide the latency of an addition.
    constexpr std::int64_t kSums = 4;
    Lanes reads[kSums] = {}, outputs[kSums] = {};
    std::int64_t j = 0;
    for (; j + kSums <= v.keys; j += kSums)
      for (std::int64_t s = 0; s < kSums; ++s) reads[s] += state[j + s] * a[j + s];
    for (; j < v.keys; ++j) reads[0] += state[j] * a[j];
    const Lanes read = (reads[0] + reads[1]) + (reads[2] + reads[3]);
    const auto advance = [&](std::int64_t k) __attribute__((always_inline)) {
      state[k] = state[k] * decay[k] + read * b[k] + value * key[k];
    };
    for (j = 0; j + kSums <= v.keys; j += kSums) {
      for (std::int64_t s = 0; s < kSums; ++s) {
        advance(j + s);
        outputs[s] += state[j + s] * query[j + s];
      }
    }
    for (; j < v.keys; ++j) {
      advance(j);
      outputs[0] += state[j] * query[j];
    }
    store_some((outputs[0] + outputs[1]) + (outputs[2] + outputs[3]), v.count, v.output + t * v.value_step);
  }
  for (std::int64_t j = 0; j < v.keys; ++j)
    for (std::int64_t i = 0; i < v.count; ++i) v.last[i * v.keys + j] = state[j][i];
}

class DeltaRuleKernel final : public Kernel {
 public:
  explicit DeltaRuleKernel(const Step& step)
      : query_(step.inputs[0]),
        decay_(step.inputs[1]),
        key_(step.inputs[2]),
        value_(step.inputs[3]),
        a_(step.inputs[4]),
        b_(step.inputs[5]),
        first_(step.inputs[6]),
        output_(step.outputs[0]),
        last_(step.outputs[1]),
        team_(step.engine.team_for(9.0 * static_cast<double>(value_.size()) * static_cast<double>(query_.shape[3]))) {}

  void run() override {
    const std::int64_t steps = query_.shape[1], heads = query_.shape[2], keys = query_.shape[3];
    const std::int64_t values = value_.shape[3], blocks = (values + kLanes - 1) / kLanes;
    parallel_for(query_.shape[0] * heads * blocks, team_, [&](std::int64_t i, int) {
      const std::int64_t block = i % blocks, row = i / blocks, sample = row / heads, head = row % heads;
      const std::int64_t from = block * kLanes, rows = sample * steps * heads + head;
      const std::int64_t at = rows * keys, to = rows * values + from, state = (row * values + from) * keys;
      run_steps({query_.data<float>() + at, decay_.data<float>() + at, key_.data<float>() + at, a_.data<float>() + at,
                 b_.data<float>() + at, value_.data<float>() + to, first_.data<float>() + state,
                 output_.data<float>() + to, last_.data<float>() + state, steps, keys,
                 std::min<std::int64_t>(values - from, kLanes), heads * keys, heads * values});
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  Operand query_, decay_, key_, value_, a_, b_, first_, output_, last_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const Dim keys = step.inputs[0].shape[3];
  return keys <= kMostKeys ? "" : fmt::format("a head has {} keys, and the kernel takes {}", keys, kMostKeys);
}

}  // namespace

Kernels kernels_of(const graph::DeltaRule&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, no_memory, make_as<DeltaRuleKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
