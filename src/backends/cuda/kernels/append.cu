// Writes rows into a KV cache.
#include <cstdint>

#include "device.h"
#include "fault.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

/// Writes x (B,T,K,H) into rows of a cache (C,K,S,H), from `position` on, which only the device knows.
struct AppendPlan {
  Array cache, x;
  const std::int32_t* position = nullptr;  ///< on the device
  std::int64_t count = 0;                  ///< elements of x
  std::int64_t T = 0, K = 0, S = 0, H = 0;
  std::int64_t step = 1;  ///< entries of the cache per entry of x
  Reporter report;
};

template <typename Number>
__global__ void append_kernel(AppendPlan plan) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t position = *plan.position;
  if (position < 0 || position + plan.T > plan.S) return plan.report(Fault::rows_beyond_cache, position);
  const std::int64_t i = thread_index();
  if (i >= plan.count || !plan.report.none()) return;
  const Divided head = divide(i, plan.H), row = divide(head.quotient, plan.K), entry = divide(row.quotient, plan.T);
  const std::int64_t to = (entry.quotient * plan.step * plan.K + row.remainder) * plan.S + position + entry.remainder;
  store(plan.cache, to * plan.H + head.remainder, load<Number>(plan.x, i));
}

}  // namespace

Choice make_plain(const graph::Append&, const Step& step) {
  const Operand &cache = step.inputs[0], &x = step.inputs[1];
  AppendPlan plan;
  plan.cache = array_of(cache);
  plan.x = array_of(x);
  plan.position = step.inputs[2].as<const std::int32_t>();
  plan.count = x.size();
  plan.T = x.shape[1];
  plan.K = x.shape[2];
  plan.S = cache.shape[2];
  plan.H = x.shape[3];
  plan.step = cache.shape[0] / x.shape[0];
  plan.report = reporter_of(step);
  return {
      "plain", [plan](cudaStream_t stream) {
        const LaunchShape shape = thread_each(plan.count + 1);  // without rows, one thread still checks the position
        with_float_of(plan.x.dtype,
                      [&](auto zero) { check(launch(append_kernel<decltype(zero)>, shape, stream, plan), "append"); });
      }};
}

}  // namespace attn::cuda
