// Memory checks before anything large is allocated.
#pragma once

#include <cstdint>
#include <optional>

#include "attn/backends/backend.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/run/memory.h"
#include "attn/run/session.h"

namespace attn::open {

/// Returns the bytes that the system allows, and at most `own`, the limit of the whole process.
[[nodiscard]] run::MemoryLimit memory_limit(const std::optional<std::int64_t>& own);

/// Checks the memory for the weights and a pass of `graph`, the model lowered by `lower`. Throws Error (no_memory),
/// with the largest batch or length that fits, if there is not enough. Returns the maximum number of bytes that the
/// process will take in all.
std::int64_t require_memory(const LoadedModel& loaded, const keras::LowerOptions& lower, const graph::Graph& graph,
                            const backends::Backend& backend, const Execution& execution,
                            run::Keep keep = run::Keep::outputs);

/// Returns the batch of the graph's first input.
[[nodiscard]] std::int64_t batch_of(const graph::Graph& graph);
/// Returns the length of the first sequence axis among the inputs; nothing if there is none.
[[nodiscard]] std::optional<std::int64_t> sequence_length_of(const graph::Graph& graph);

}  // namespace attn::open
