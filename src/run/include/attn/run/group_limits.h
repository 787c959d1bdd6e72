// The limits of the control group (cgroup) of this process, as in a container. They may be below the machine's number
// of cores and its installed memory.
#pragma once

#include <cstdint>
#include <optional>

namespace attn::run {

struct Limits {
  std::optional<double> cores;  ///< limit of CPU time, in cores: 1.5 means 1.5 seconds of CPU time per second
  /// Memory limit: the smallest of those of this process's group and of its ancestors.
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_left;  ///< bytes that the processes of the group can still allocate together
};
[[nodiscard]] Limits group_limits();

}  // namespace attn::run
