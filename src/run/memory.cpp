#include "attn/run/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/plan/plan.h"
#include "attn/run/group_limits.h"

namespace attn::run {
namespace {

/// The rest is a reserve: the free memory is known only approximately, and changes.
constexpr int kPercent = 90;

/// Returns the rest of a resource limit of the process, in bytes.
std::optional<std::int64_t> left_of(int resource, std::string_view used) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  const auto most = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kMaxSize));
  return std::max<std::int64_t>(0, most - proc_bytes("/proc/self/status", used).value_or(0));
}

}  // namespace

std::optional<std::int64_t> proc_bytes(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::int64_t kilobytes = 0;
    if (rest >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

std::int64_t memory_needed(const backends::Backend& backend, graph::Graph graph,
                           const backends::CompileOptions& options, Keep keep) {
  return backend.memory_needed(plan_for(backend, std::move(graph), keep).plan, options);
}

std::int64_t current_memory() { return proc_bytes("/proc/self/status", "VmRSS:").value_or(0); }

MemoryLimit memory_limit(std::optional<std::int64_t> own, std::string_view name) {
  MemoryLimit smallest{kMaxSize, ""};
  const auto take = [&](std::optional<std::int64_t> bytes, int percent, std::string reason) {
    if (!bytes) return;
    const std::int64_t part = *bytes / 100 * percent;
    if (part < smallest.bytes) smallest = {part, std::move(reason)};
  };
  const auto percent = [](std::string_view of) { return fmt::format("{} % of {}", kPercent, of); };
  take(proc_bytes("/proc/meminfo", "MemAvailable:"), kPercent, percent("the memory that is free"));
  take(group_limits().memory_left, kPercent, percent("the rest of the control group's limit"));
  take(left_of(RLIMIT_AS, "VmSize:"), kPercent, percent("the rest of ulimit -v"));
  take(left_of(RLIMIT_DATA, "VmData:"), kPercent, percent("the rest of ulimit -d"));
  if (own) {
    const std::int64_t left = std::max<std::int64_t>(0, *own - current_memory());
    if (left < smallest.bytes) smallest = {left, fmt::format("the rest of {}", name)};
  }
  return smallest;
}

void require_memory(const std::string& what, UInt128 needed, const MemoryLimit& limit,
                    const std::function<std::string()>& way_out) {
  if (needed <= static_cast<UInt128>(limit.bytes)) return;
  const std::string out = way_out ? way_out() : "";
  throw Error(ExitCode::no_memory,
              fmt::format("{} {}, but {} are available ({}){}{}", what, memory_size(needed),
                          memory_size(static_cast<UInt128>(limit.bytes)), limit.reason, out.empty() ? "" : "; ", out));
}

}  // namespace attn::run
