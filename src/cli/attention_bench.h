// `attn bench --attention`: the attention kernels alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench_plan.h"

namespace attn::cli {

struct AttentionSweep {
  std::vector<std::int64_t> batches{1}, lengths{512}, head_dims{64};
  std::int64_t heads = 16;
  std::optional<std::int64_t> key_heads;  ///< as many as heads
  bool causal = false;
  std::vector<std::string> dtypes{"float32"};
};

/// A row per dtype, head size, batch and length. GFLOP are those of the two products, and the share is of the speed
/// that the backend reaches at one large product of the same dtype. Throws Error.
void measure_attention(const BenchPlan& plan, const AttentionSweep& sweep, const backends::Backend& backend);

}  // namespace attn::cli
