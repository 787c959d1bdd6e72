// Does it fit? Asked before anything large is allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "attn/backends/backend.h"
#include "attn/base/size.h"
#include "attn/graph/graph.h"
#include "attn/run/session.h"

namespace attn::run {

/// The most bytes of the host's memory that a Session of the graph and its passes hold at one time, weights and inputs
/// included. Throws Error (no_memory) where that is more than a number of bytes can tell.
[[nodiscard]] std::int64_t memory_needed(const backends::Backend& backend, graph::Graph graph,
                                         const backends::CompileOptions& options, Keep keep = Keep::outputs);

/// The bytes that a line of /proc/meminfo or /proc/self/status tells, as "MemAvailable:  16384 kB"; nothing without it.
[[nodiscard]] std::optional<std::int64_t> proc_bytes(const char* file, std::string_view key);

/// Bytes of memory that this process has now.
[[nodiscard]] std::int64_t current_memory();

/// What this process may still take, and by whose word: "90 % of the memory that is free", "--mem-limit".
struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string reason;
};

/// The smallest of 90 % of the system's available memory, of the control group's, and of the process's own limits
/// (ulimit -v, -d), and of what is left of `own`, the bytes that the process is to take in all, which messages call
/// `name`.
[[nodiscard]] MemoryLimit memory_limit(std::optional<std::int64_t> own, std::string_view name = "the limit");

/// Throws Error (no_memory) where `needed` bytes pass the limit: `what` ("the weights take"), its bytes, the limit, and
/// `way_out`, which is asked only then and may be "".
void require_memory(const std::string& what, UInt128 needed, const MemoryLimit& limit,
                    const std::function<std::string()>& way_out = {});

}  // namespace attn::run
