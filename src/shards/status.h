// What the file system says of a file, by its own clock. Private to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attn::shards {

struct Status {
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds
};

/// Nothing where there is no such file.
[[nodiscard]] std::optional<Status> status_of(const std::string& path);

/// The time at which a file that is touched now was modified: machines that share a folder share this clock. `folder`
/// is one that this process may write to.
[[nodiscard]] std::int64_t now_in(const std::string& folder);

/// Makes the folder and those above it. Throws Error (bad_input).
void make_folder(const std::string& path);

/// "host pid-namespace pid start": a process, and no other that gets its number later.
[[nodiscard]] std::string this_process();
/// Is the process of that name one of this machine that is gone?
[[nodiscard]] bool is_gone(const std::string& process);

}  // namespace attn::shards
