#include "attn/run/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "attn/base/text.h"
#include "attn/run/memory.h"

namespace attn::run {
namespace {

/// Linux's spelling, on x86-64 and on Arm.
constexpr std::array<std::string_view, 17> kInstructionSets = {
    "sse4_2",   "avx",      "avx2",     "fma",   "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16",
    "amx_tile", "amx_bf16", "amx_fp16", "asimd", "asimdhp",  "bf16",    "sve",         "sve2"};

/// Returns the text after the colon of the first line that begins with `key`.
std::string field(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

CpuInfo cpu_info() {
  CpuInfo info;
  info.name = printable(field("/proc/cpuinfo", "model name"));
  if (info.name.empty()) info.name = "unknown CPU";
  std::string flags = field("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = field("/proc/cpuinfo", "Features");
  flags = " " + flags + " ";
  for (const std::string_view set : kInstructionSets) {
    if (flags.find(fmt::format(" {} ", set)) != std::string::npos) info.isa.emplace_back(set);
  }
  info.cores = usable_cores();
  info.memory_bytes = proc_bytes("/proc/meminfo", "MemTotal:").value_or(0);
  info.available_bytes = proc_bytes("/proc/meminfo", "MemAvailable:").value_or(0);
  return info;
}

std::string kernel_name() {
  utsname names{};
  if (::uname(&names) != 0) return "";
  return printable(fmt::format("{} {} {}", names.sysname, names.release, names.machine));
}

std::optional<double> load_average() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

std::string machine_name() {
  const CpuInfo info = cpu_info();
  return fmt::format("{}, {} core{}", info.name, info.cores, info.cores == 1 ? "" : "s");
}

}  // namespace attn::run
