#include "temporaries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

namespace attn::io {
namespace {

/// Memory is never freed, and the first byte is written last.
struct Listed {
  std::atomic<bool> taken = false;
  std::array<char, PATH_MAX> name{};
};
std::array<Listed, 8> at_work;

/// Removes a file or a folder in `parent` with all that is in it, with only system calls. Returns whether it is gone.
bool remove_all(int parent, const char* name, int depth) noexcept {
  if (::unlinkat(parent, name, 0) == 0) return true;
  if (depth == 0 || (errno != EISDIR && errno != EPERM)) return false;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return false;
  // A list that is read while names are removed may lack some.
  for (bool removed = true; removed;) {
    removed = false;
    ::lseek(folder, 0, SEEK_SET);
    alignas(dirent64) std::array<char, 2048> names{};
    for (long size = 0; (size = ::syscall(SYS_getdents64, folder, names.data(), names.size())) > 0;) {
      for (long at = 0; at < size;) {
        const auto* entry = reinterpret_cast<const dirent64*>(names.data() + at);  // NOLINT: the kernel's own form
        at += entry->d_reclen;
        const std::string_view inside = entry->d_name;
        if (inside != "." && inside != "..") removed |= remove_all(folder, entry->d_name, depth - 1);
      }
    }
  }
  ::close(folder);
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

}  // namespace

char* enlist(const std::string& name) noexcept {
  if (name.size() >= PATH_MAX) return nullptr;
  for (Listed& each : at_work) {
    if (each.taken.exchange(true)) continue;
    std::memcpy(each.name.data() + 1, name.c_str() + 1, name.size());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    each.name[0] = name[0];
    return each.name.data();
  }
  return nullptr;
}

void strike_off(char*& listed) noexcept {
  for (Listed& each : at_work) {
    if (each.name.data() != listed) continue;
    each.name[0] = '\0';
    std::atomic_signal_fence(std::memory_order_seq_cst);
    each.taken = false;
  }
  listed = nullptr;
}

void remove_listed() noexcept {
  constexpr int kDepth = 4;  // deeper than the folders in a preset
  for (const Listed& each : at_work)
    if (each.name[0] != '\0') remove_all(AT_FDCWD, each.name.data(), kDepth);
}

}  // namespace attn::io
