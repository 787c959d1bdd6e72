// What the system allows this process: control groups set limits that neither the number of cores nor the installed
// memory tells.
#pragma once

#include <cstdint>
#include <optional>

namespace attn::run {

struct Limits {
  std::optional<double> cores;               ///< of processor time, as 1.5
  std::optional<std::int64_t> memory_bytes;  ///< of this process's group and those around it
  std::optional<std::int64_t> memory_left;   ///< what their processes together may still take
};
[[nodiscard]] Limits group_limits();

}  // namespace attn::run
