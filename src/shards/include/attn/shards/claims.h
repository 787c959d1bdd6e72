// Claims on files, for processes that take files as they become free.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "attn/shards/work_list.h"

namespace attn::shards {

/// The distribution of files over processes.
enum class Schedule : std::uint8_t {
  static_,  ///< file i belongs to process i mod N: the processes are known beforehand and need no shared folder
  claim     ///< a free process takes the next file, which compensates for slow and lost processes
};

/// Claim files in a folder that all processes share. A process takes a claim by creating a hard link under an unused
/// name, which is atomic on NFS too, and refreshes its modification time every ten seconds. A claim is stale if its
/// process ran on this machine and is gone, or if it has not been refreshed for a minute. To take over a stale claim, a
/// process creates a link whose name has the next generation number; this succeeds for only one process.
class Claims {
 public:
  /// Throws Error (bad_input) if the folder cannot be created or written.
  explicit Claims(const std::string& output_folder);
  /// Releases the held claim.
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Claims the file unless a living process holds it. A file that another process has finished meanwhile can still be
  /// claimed: check again whether it is done. At most one claim at a time.
  [[nodiscard]] bool take(const WorkItem& item);
  void release();

 private:
  void beat_until_over();
  [[nodiscard]] bool is_alive(const std::string& path, std::int64_t last_beat) const;
  [[nodiscard]] std::string path_of(const std::string& stem, int generation) const;

  std::string folder_;
  std::string owner_;  // the file that claims are links to
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string held_;  // path of the held claim, or ""; guarded by mutex_
  std::string stem_;  // stem of the held file
  int generation_ = 0;
  bool over_ = false;  // guarded by mutex_
  std::thread heart_;
};

}  // namespace attn::shards
