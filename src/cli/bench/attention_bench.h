// `attn bench --attention`: the attention kernels without a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/run/workload.h"
#include "bench/plan.h"
#include "options/options.h"

namespace attn::cli {

struct AttentionSweep {
  std::vector<std::int64_t> batches{1}, lengths{512}, head_dims{64};
  std::int64_t heads = 16;
  std::optional<std::int64_t> key_heads;  ///< default: the number of heads
  bool causal = false;
  std::vector<run::AttentionSize> sizes;  ///< replaces all of the above, if not empty
  std::vector<std::string> dtypes{"float32"};
  bool peak = true;  ///< measure the peak first

  /// Returns how many sizes are measured in each dtype.
  [[nodiscard]] std::size_t count() const;
};

/// Adds --attention, whether attention kernels are measured, and the options that need it.
void add_attention_sweep(Options& options, bool& attention, AttentionSweep& sweep);

/// Parses "4x16x4096x128,1x16x512x64:causal": batch, heads, positions, head size. Throws Error (usage).
[[nodiscard]] std::vector<run::AttentionSize> parse_attention_sizes(const std::string& text);

/// Adds a row for each dtype and size; without `sizes`, for each dtype, head size, batch and length. GFLOP counts the
/// two products. The fraction of the peak is relative to one large product of the same dtype on this backend. Throws
/// Error.
void measure_attention(const BenchPlan& plan, const AttentionSweep& sweep, const backends::Backend& backend);

}  // namespace attn::cli
