#include "output/files_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <mutex>

#include "attn/report/number.h"
#include "output/progress.h"
#include "output/status_line.h"

namespace attn::cli {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

}  // namespace

std::string files_line(const shards::FileCounts& tally, std::int64_t before, std::size_t total, double seconds) {
  std::string line = fmt::format("{}/{} files", tally.done, total);
  if (tally.failed > 0) line += fmt::format(", {} failed", tally.failed);
  const auto passed = static_cast<double>(tally.done + tally.failed - before);
  if (passed <= 0 || seconds <= 0) return line;
  const double rate = passed / seconds;
  const double left = static_cast<double>(total) - static_cast<double>(tally.done + tally.failed);
  return line + fmt::format(", {} files/s, {} left", report::measured(rate), coarse_time(left / rate));
}

FilesProgress::FilesProgress(const Console& console, bool speaks, std::size_t total,
                             std::function<shards::FileCounts()> tally)
    : total_(total), tally_(std::move(tally)) {
  if (speaks && !console.quiet) thread_ = std::thread([this] { draw_until_done(); });
}

FilesProgress::~FilesProgress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(StatusLine::mutex());
    over_ = true;
    StatusLine::wipe();
  }
  ended_.notify_all();
  thread_.join();
}

void FilesProgress::draw_until_done() {
  const bool on_terminal = isatty(STDERR_FILENO) == 1;
  const auto start = Steady::now();
  const std::int64_t before = tally_().done;
  std::unique_lock lock(StatusLine::mutex());
  const auto over = [this] { return over_; };
  while (!ended_.wait_for(lock, on_terminal ? 1s : 30s, over)) {
    lock.unlock();  // counting many files takes a while, so the mutex is free meanwhile
    const shards::FileCounts tally = tally_();
    lock.lock();
    if (over()) return;
    const double seconds = std::chrono::duration<double>(Steady::now() - start).count();
    const std::string line = "attn: " + files_line(tally, before, total_, seconds);
    if (on_terminal)
      StatusLine::draw(line);
    else
      fmt::print(stderr, "{}\n", line);
  }
}

}  // namespace attn::cli
