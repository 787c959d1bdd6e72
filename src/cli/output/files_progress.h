// The progress of many files over all processes, on stderr.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "attn/shards/ledger.h"
#include "output/console.h"

namespace attn::cli {

/// Shows "123/4096 files, 2 failed, 31.4 files/s, 2 min left". A thread redraws the line in place on a terminal;
/// elsewhere it writes a line twice a minute, for the log of a job. Silent with --quiet.
class FilesProgress {
 public:
  /// Silent unless `speaks` is set, because only one of many processes prints. `tally` is called by another thread.
  FilesProgress(const Console& console, bool speaks, std::size_t total, std::function<shards::FileCounts()> tally);
  ~FilesProgress();
  FilesProgress(const FilesProgress&) = delete;
  FilesProgress& operator=(const FilesProgress&) = delete;

 private:
  void draw_until_done();

  std::size_t total_;
  std::function<shards::FileCounts()> tally_;
  std::condition_variable ended_;
  bool over_ = false;  // guarded by StatusLine::mutex()
  std::thread thread_;
};

/// Returns the line for the count of files after this many seconds; `before` were already done at the start.
[[nodiscard]] std::string files_line(const shards::FileCounts& tally, std::int64_t before, std::size_t total,
                                     double seconds);

}  // namespace attn::cli
