// The GPUs of this machine, as the NVIDIA driver reports them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::backends {

struct Gpu {
  int index = 0;
  std::string name;      ///< "NVIDIA H200"
  int architecture = 0;  ///< compute capability times ten: 90
  std::int64_t memory_bytes = 0;
  std::string pci_bus_id;  ///< "0000:1b:00.0"; "" if the driver does not report it
};

struct Gpus {
  std::vector<Gpu> gpus;
  int driver_version = 0;  ///< CUDA version of the driver: 13000; 0 if there is no driver
  std::string why_none;    ///< the reason why no GPU is usable, or ""
};

/// Finds the GPUs. Never throws: `why_none` has the problem.
[[nodiscard]] Gpus find_gpus();

/// The current state of a GPU from NVIDIA's management library; zeros if that is missing.
struct GpuState {
  int clock_mhz = 0;  ///< processor clock
  double watts = 0;
};
[[nodiscard]] GpuState gpu_state(int index);

/// Returns the path of the CUDA plugin, or "" if it does not exist.
[[nodiscard]] std::string cuda_plugin_path();

/// Formats 13000 as "13.0".
[[nodiscard]] std::string cuda_version_text(int version);

}  // namespace attn::backends
