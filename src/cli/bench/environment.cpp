#include "bench/environment.h"

#include <fmt/format.h>

#include <fstream>

#include "attn/backends/cpu.h"
#include "attn/backends/devices.h"
#include "attn/base/text.h"
#include "attn/run/machine.h"

namespace attn::cli {
namespace {

std::string first_word(const char* file) {
  std::ifstream text(file);
  std::string word;
  text >> word;
  return printable(word);
}

}  // namespace

report::Environment bench_environment(const std::string& device) {
  const run::CpuInfo cpu = run::cpu_info();
  report::Environment out;
  out.attn = ATTN_VERSION;
  out.onednn = backends::onednn_library().version;
  out.system = run::kernel_name();
  out.cpu = cpu.name;
  out.isa = cpu.isa;
  out.kernel_isa = backends::kernel_isa();
  out.cores = cpu.cores;
  out.memory_bytes = cpu.memory_bytes;
  out.governor = first_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  out.load = run::load_average();
  if (device.rfind("cuda", 0) == 0) {
    const backends::Gpus found = backends::find_gpus();
    for (const backends::Gpu& gpu : found.gpus)
      if (device == fmt::format("cuda:{}", gpu.index)) out.gpu = printable(gpu.name);
    if (found.driver_version > 0) out.driver = "CUDA " + backends::cuda_version_text(found.driver_version);
  }
  return out;
}

}  // namespace attn::cli
