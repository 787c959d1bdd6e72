#include "attn/run/group_limits.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace attn::run {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

/// Returns the cgroup (version 2) of the process: "/user.slice/…"; "/" inside most containers.
std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  return "/";
}

template <typename T>
void lower(std::optional<T>& limit, T value) {
  limit = std::min(limit.value_or(value), value);
}

void lower_memory(Limits& limits, const std::string& limit_file, const std::string& usage_file) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1: a number near 2^63 means unlimited
  std::int64_t bytes = 0, used = 0;
  if (std::ifstream limit(limit_file); !(limit >> bytes) || bytes >= kUnlimited) return;
  lower(limits.memory_bytes, bytes);
  if (std::ifstream usage(usage_file); usage >> used)
    lower(limits.memory_left, std::max<std::int64_t>(0, bytes - used));
}

void read_group(const std::string& folder, Limits& limits) {
  double quota = 0;
  double period = 0;
  if (std::ifstream cpu(folder + "/cpu.max"); cpu >> quota >> period && period > 0) lower(limits.cores, quota / period);
  lower_memory(limits, folder + "/memory.max", folder + "/memory.current");
}

void read_version_1(Limits& limits) {
  const std::string root = kRoot;
  double quota = 0;
  double period = 0;
  std::ifstream quotas(root + "/cpu/cpu.cfs_quota_us");
  std::ifstream periods(root + "/cpu/cpu.cfs_period_us");
  if (quotas >> quota && periods >> period && quota > 0 && period > 0) lower(limits.cores, quota / period);
  lower_memory(limits, root + "/memory/memory.limit_in_bytes", root + "/memory/memory.usage_in_bytes");
}

}  // namespace

Limits group_limits() {
  Limits limits;
  for (std::string group = own_group();; group.resize(group.rfind('/'))) {
    while (group.ends_with('/')) group.pop_back();
    read_group(kRoot + group, limits);
    if (group.rfind('/') == std::string::npos) break;
  }
  read_version_1(limits);
  return limits;
}

}  // namespace attn::run
