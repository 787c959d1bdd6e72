// Limits of control groups (cgroups), which the number of cores and the installed memory do not show.
#pragma once

#include <cstdint>
#include <optional>

namespace attn::run {

struct Limits {
  std::optional<double> cores;               ///< CPU time, for example 1.5
  std::optional<std::int64_t> memory_bytes;  ///< the smallest of this process's group and its ancestors
  std::optional<std::int64_t> memory_left;   ///< memory that the processes of the group can still allocate together
};
[[nodiscard]] Limits group_limits();

}  // namespace attn::run
