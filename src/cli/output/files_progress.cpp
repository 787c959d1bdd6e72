#include "output/files_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "attn/report/number.h"
#include "output/progress.h"
#include "output/status_line.h"

namespace attn::cli {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

/// Returns the line for the count of files after this many seconds; `before` were already done at the start.
std::string files_line(const shards::FileCounts& tally, std::int64_t before, std::size_t total, double seconds) {
  std::string line = fmt::format("{}/{} files", tally.done, total);
  if (tally.failed > 0) line += fmt::format(", {} failed", tally.failed);
  const auto passed = static_cast<double>(tally.done + tally.failed - before);
  if (passed <= 0 || seconds <= 0) return line;
  const double rate = passed / seconds;
  const double left = static_cast<double>(total) - static_cast<double>(tally.done + tally.failed);
  return line + fmt::format(", {} files/s, {} left", report::measured(rate), coarse_time(left / rate));
}

}  // namespace

FilesProgress::FilesProgress(const Console& console, bool speaks, std::size_t total,
                             std::function<shards::FileCounts()> tally) {
  if (!speaks || console.quiet) return;
  const bool on_terminal = isatty(STDERR_FILENO) == 1;
  const std::int64_t before = tally().done;
  const auto text = [total, before, tally = std::move(tally), start = Steady::now()] {
    const double seconds = std::chrono::duration<double>(Steady::now() - start).count();
    return "attn: " + files_line(tally(), before, total, seconds);
  };
  const auto draw = [on_terminal](const std::string& line) {
    if (on_terminal)
      StatusLine::draw(line);
    else
      fmt::print(stderr, "{}\n", line);
  };
  const StatusThread::Interval interval = on_terminal ? 1s : 30s;
  thread_.emplace(interval, interval, text, draw);
}

}  // namespace attn::cli
