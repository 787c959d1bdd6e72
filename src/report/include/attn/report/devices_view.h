// The devices of this machine, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

struct DeviceRow {
  std::string device;                ///< argument of --device: "cpu", "cuda:0"
  std::string name;                  ///< name of the device: "NVIDIA H200"
  std::vector<std::string> details;  ///< instruction sets, or the GPU architecture: "sm_90"
  int cores = 0;                     ///< number of cores; 0: unknown
  std::int64_t memory_bytes = 0;
  std::string backend;     ///< the backend that would run a model: "onednn"; "" if none can
  std::string why_not;     ///< the reason why no backend can run a model
  std::string kernel_isa;  ///< for a CPU: the newest instruction set that kernels use: "avx512"
};

struct DevicesReport {
  std::vector<DeviceRow> devices;
  std::string driver;        ///< the CUDA version that the NVIDIA driver supports, or ""
  std::string cuda_missing;  ///< the reason why no GPU can be used, or ""
};

/// table, json ("attn.devices/1")
[[nodiscard]] std::string render(Format format, const DevicesReport& report);

}  // namespace attn::report
