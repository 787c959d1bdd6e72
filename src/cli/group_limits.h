// What the system allows this process: control groups set limits that neither the number of cores nor the installed
// memory tells.
#pragma once

#include <cstdint>
#include <optional>

namespace attn::cli {

struct Limits {
  std::optional<double> cores;               ///< of processor time, as 1.5
  std::optional<std::int64_t> memory_bytes;  ///< of this process's group and those around it
};
[[nodiscard]] Limits group_limits();

}  // namespace attn::cli
