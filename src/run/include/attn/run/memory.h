// Memory checks before anything large is allocated.
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

/// Returns the peak host memory in bytes of a Session of the graph and its passes, including weights and inputs. Throws
/// Error (no_memory) if that does not fit into 64 bits.
[[nodiscard]] std::int64_t memory_needed(const backends::Backend& backend, graph::Graph graph,
                                         const backends::CompileOptions& options, Keep keep = Keep::outputs);

/// Returns the number of bytes in a line of /proc/meminfo or /proc/self/status, such as "MemAvailable:  16384 kB";
/// empty if there is no such line.
[[nodiscard]] std::optional<std::int64_t> proc_bytes(const char* file, std::string_view key);

/// Returns the resident memory of this process, in bytes.
[[nodiscard]] std::int64_t current_memory();

/// The memory that this process can still allocate, and the reason for messages: "90 % of the memory that is free",
/// "--mem-limit".
struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string reason;
};

/// Returns the smallest of several limits: 90 % of the system's available memory, the limit of the control group, the
/// process's own limits (ulimit -v, -d), and the rest of `own`, a limit for the whole process. Messages call `own` by
/// `name`.
[[nodiscard]] MemoryLimit memory_limit(std::optional<std::int64_t> own, std::string_view name = "the limit");

/// Throws Error (no_memory) if `needed` bytes exceed the limit. The message has `what` ("the weights take"), the bytes,
/// the limit, and the result of `way_out`, which is called only then and may be "".
void require_memory(const std::string& what, UInt128 needed, const MemoryLimit& limit,
                    const std::function<std::string()>& way_out = {});

}  // namespace attn::run
