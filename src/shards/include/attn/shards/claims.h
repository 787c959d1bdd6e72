// Who works on what, where processes take files as they come free.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "attn/shards/work_list.h"

namespace attn::shards {

/// How files are shared out.
enum class Schedule : std::uint8_t {
  static_,  ///< file i is process i mod N's: the processes are known beforehand, and need not share a folder
  claim     ///< whoever is free takes the next: slow and lost processes are made up for
};

/// Files that say "I have it", in a folder that all processes share. A claim is made by linking a name that nobody has
/// linked, which is one step for NFS too; its modification time beats every ten seconds. One whose process is gone from
/// this machine, or that has not beaten for a minute, is taken over by linking the next of the same name: of several
/// that try, one does.
class Claims {
 public:
  /// Throws Error (bad_input) where the folder cannot be made or written.
  explicit Claims(const std::string& output_folder);
  /// Lets go of what is held.
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Takes the file where no living process has it. What another has finished meanwhile can be taken too: look again
  /// whether it is done. One at a time.
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
  std::string held_;  // its path, or ""; guarded by mutex_
  std::string stem_;  // of what is held
  int generation_ = 0;
  bool over_ = false;  // guarded by mutex_
  std::thread heart_;
};

}  // namespace attn::shards
