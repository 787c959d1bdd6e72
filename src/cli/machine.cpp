#include "machine.h"

#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "attn/base/text.h"

namespace attn::cli {

std::string machine_name() {
  std::string cpu = "unknown CPU";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    if (const auto colon = line.find(": "); colon != std::string::npos) cpu = printable(line.substr(colon + 2));
    break;
  }
  const unsigned cores = std::thread::hardware_concurrency();
  return fmt::format("{}, {} core{}", cpu, cores, cores == 1 ? "" : "s");
}

}  // namespace attn::cli
