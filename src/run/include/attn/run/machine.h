// The name of this machine, for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::run {

/// The CPU of the process.
struct CpuInfo {
  std::string name;              ///< name of the CPU: "Intel(R) Xeon(R) Processor"
  std::vector<std::string> isa;  ///< the instruction sets that attn uses, the oldest first: "avx2", "amx_bf16"
  int cores = 0;                 ///< number of cores that this process may run on
  std::int64_t memory_bytes = 0, available_bytes = 0;
};
[[nodiscard]] CpuInfo cpu_info();

/// Returns "Linux 6.1.0-18-amd64 x86_64", or "".
[[nodiscard]] std::string kernel_name();
/// Returns the mean number of processes that ran or waited in the last minute; nothing if the system does not have it.
[[nodiscard]] std::optional<double> load_average();

/// Returns "Intel(R) Xeon(R) Processor, 2 cores".
[[nodiscard]] std::string machine_name();

}  // namespace attn::run
