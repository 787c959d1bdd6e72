// The GPUs of this machine, asked of the NVIDIA driver alone.
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
  std::string pci_bus_id;  ///< "0000:1b:00.0"; "" where the driver does not tell
};

struct Gpus {
  std::vector<Gpu> gpus;
  int driver_version = 0;  ///< of CUDA, as the driver says it: 13000; 0 where there is no driver
  std::string why_none;    ///< the sentence where there is no GPU to use, or ""
};

/// Never throws: what is missing is in `why_none`.
[[nodiscard]] Gpus find_gpus();

/// What a GPU does at this moment, asked of NVIDIA's management library; zeros where that is missing.
struct GpuState {
  int clock_mhz = 0;  ///< of the processors
  double watts = 0;
};
[[nodiscard]] GpuState gpu_state(int index);

/// Where the CUDA plugin would be opened from, or "" where no file is there.
[[nodiscard]] std::string cuda_plugin_path();

/// "13.0" for 13000.
[[nodiscard]] std::string cuda_version_text(int version);

}  // namespace attn::backends
