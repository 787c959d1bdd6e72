#include "attn/backends/devices.h"

#include <fmt/format.h>

#include <memory>

#include "attn/backends/cpu.h"
#include "attn/backends/registry.h"
#include "attn/base/error.h"
#include "attn/run/machine.h"
#include "commands/devices.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

/// Describes a GPU. It is usable if its backend can be opened.
report::DeviceRow row_of(const backends::Gpu& gpu) {
  report::DeviceRow row{fmt::format("cuda:{}", gpu.index),
                        gpu.name,
                        {fmt::format("sm_{}", gpu.architecture)},
                        0,
                        gpu.memory_bytes,
                        "cuda",
                        "",
                        ""};
  try {
    (void)backends::make_backend(row.device, "cuda");
  } catch (const Error& error) {
    row.backend.clear();
    row.why_not = error.what();
  }
  return row;
}

struct DevicesCommand {
  Common common;

  void declare(Options& options) { add_common(options, common, {Format::table, Format::json}); }

  [[nodiscard]] int run() const {
    const report::DevicesReport report = find_devices();
    common.write(report::render(common.form(), report));
    return 0;
  }
};

}  // namespace

report::DevicesReport find_devices() {
  report::DevicesReport report;
  const run::CpuInfo cpu = run::cpu_info();
  report.devices.push_back(
      {"cpu", cpu.name, cpu.isa, cpu.cores, cpu.memory_bytes, "onednn", "", std::string(backends::kernel_isa())});
  const backends::Gpus found = backends::find_gpus();
  if (found.driver_version > 0) report.driver = backends::cuda_version_text(found.driver_version);
  report.cuda_missing = found.why_none;
  for (const backends::Gpu& gpu : found.gpus) report.devices.push_back(row_of(gpu));
  return report;
}

Command devices_command() {
  return command_of<DevicesCommand>("devices", "list the devices that can run a model, and why others cannot");
}

}  // namespace attn::cli
