// How far many files have come, by whatever processes, on stderr.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "attn/shards/ledger.h"
#include "output/console.h"

namespace attn::cli {

/// "123/4096 files, 2 failed, 31.4 files/s, 2 min left": drawn over itself on a terminal, a line twice a minute
/// elsewhere, as in a job's log. Nothing with --quiet. A thread draws it.
class FilesProgress {
 public:
  /// Silent where `speaks` is not set: of many processes, one speaks. `tally` is called by another thread.
  FilesProgress(const Console& console, bool speaks, std::size_t total, std::function<shards::Tally()> tally);
  ~FilesProgress();
  FilesProgress(const FilesProgress&) = delete;
  FilesProgress& operator=(const FilesProgress&) = delete;

 private:
  void draw_until_done();

  std::size_t total_;
  std::function<shards::Tally()> tally_;
  std::condition_variable ended_;
  bool over_ = false;  // guarded by StatusLine::mutex()
  std::thread thread_;
};

/// The line for so many files after so many seconds, in which `before` were done already.
[[nodiscard]] std::string files_line(const shards::Tally& tally, std::int64_t before, std::size_t total,
                                     double seconds);

}  // namespace attn::cli
