// What this machine can run a model on, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

struct DeviceRow {
  std::string device;                ///< what --device takes: "cpu", "cuda:0"
  std::string name;                  ///< "NVIDIA H200"
  std::vector<std::string> details;  ///< instruction sets, or the architecture: "sm_90"
  int cores = 0;                     ///< 0: not told
  std::int64_t memory_bytes = 0;
  std::string backend;     ///< the one that would run: "onednn"; "" where none can
  std::string why_not;     ///< and why
  std::string kernel_isa;  ///< of a CPU: the newest instruction set that kernels use: "avx512"
};

struct DevicesReport {
  std::vector<DeviceRow> devices;
  std::string driver;        ///< the CUDA version that the NVIDIA driver supports, or ""
  std::string cuda_missing;  ///< why there is no GPU to use, or ""
};

/// table, json ("attn.devices/1")
[[nodiscard]] std::string render(Format format, const DevicesReport& report);

}  // namespace attn::report
