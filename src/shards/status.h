// The file system's information on a file, by its own clock. Private to the module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attn::shards {

struct Status {
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< modification time in nanoseconds
};

/// Returns nothing if the file does not exist.
[[nodiscard]] std::optional<Status> status_of(const std::string& path);

/// Returns the modification time of a file touched now: machines that share a folder share this clock. `folder` must be
/// writable.
[[nodiscard]] std::int64_t now_in(const std::string& folder);

/// Creates the folder and its parents. Throws Error (bad_input).
void make_folder(const std::string& path);

/// Returns the name of this process, "host pid-namespace pid start", which identifies it even if its pid is reused
/// later.
[[nodiscard]] std::string this_process();
/// Returns whether the process with that name ran on this machine and has ended.
[[nodiscard]] bool has_exited(const std::string& process);

}  // namespace attn::shards
