// The progress of many files over all processes, on stderr.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "attn/shards/ledger.h"
#include "output/console.h"
#include "output/status_thread.h"

namespace attn::cli {

/// Shows "123/4096 files, 2 failed, 31.4 files/s, 2 min left". A thread redraws the line in place on a terminal;
/// elsewhere it writes a line twice a minute, for the log of a job. Silent with --quiet.
class FilesProgress {
 public:
  /// Silent unless `speaks` is set, because only one of many processes prints. `tally` is called by another thread.
  FilesProgress(const Console& console, bool speaks, std::size_t total, std::function<shards::FileCounts()> tally);

 private:
  std::optional<StatusThread> thread_;
};

}  // namespace attn::cli
