// What this machine is called, for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// The CPU that the process runs on.
struct CpuInfo {
  std::string name;              ///< "Intel(R) Xeon(R) Processor"
  std::vector<std::string> isa;  ///< the instruction sets that attn has use for, the oldest first: "avx2", "amx_bf16"
  int cores = 0;                 ///< that this process may run on
  std::int64_t memory_bytes = 0, available_bytes = 0;
};
[[nodiscard]] CpuInfo cpu_info();

/// "Linux 6.1.0-18-amd64 x86_64", or "".
[[nodiscard]] std::string kernel_name();
/// Processes that ran or waited in the last minute, in the mean; nothing where the system does not tell.
[[nodiscard]] std::optional<double> load_average();

/// "Intel(R) Xeon(R) Processor, 2 cores".
[[nodiscard]] std::string machine_name();

}  // namespace attn::cli
