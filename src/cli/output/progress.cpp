#include "output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "output/status_line.h"

namespace attn::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 1000ms, kInterval = 200ms;

Progress* shown = nullptr;  // the instance that may draw; guarded by StatusLine::mutex()

}  // namespace

std::string coarse_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::unique_ptr<open::Work> Console::begin(const std::string& what, double total) const {
  return std::make_unique<Progress>(*this, what, total);
}

Progress::Progress(const Console& console, const std::string& what, double total)
    : Progress(console, what, total, [this] { return done_.load(); }) {}

Progress::Progress(const Console& console, const std::string& what, double total, std::function<double()> done)
    : what_(printable(what)), total_(total), meter_(std::move(done)) {
  if (console.quiet || isatty(STDERR_FILENO) != 1) return;
  const std::lock_guard lock(StatusLine::mutex());
  if (shown != nullptr) return;
  shown = this;
  thread_.emplace(
      kPatience, kInterval, [this] { return line(); }, StatusLine::draw);
}

Progress::~Progress() {
  if (!thread_) return;
  thread_.reset();
  const std::lock_guard lock(StatusLine::mutex());
  shown = nullptr;
}

void Progress::advance(double steps) {
  double before = done_.load();
  while (!done_.compare_exchange_weak(before, before + steps)) {
  }
}

std::string Progress::line() const {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double share = total_ > 0.0 ? meter_() / total_ : 0.0;
  // The time after the last step (for example for a slow disk) is not shown as a step.
  if (share <= 0.0 || share >= 1.0) return fmt::format("attn: {}, {}", what_, coarse_time(std::floor(seconds)));
  return fmt::format("attn: {} {:3.0f}%, {} left", what_, 100.0 * share, coarse_time(seconds * (1.0 - share) / share));
}

namespace {

Progress writing_bytes(const Console& console, const std::string& path, std::int64_t bytes) {
  const std::int64_t before = io::AtomicFile::bytes_written();
  return {console, "writing " + path, static_cast<double>(bytes),
          [before] { return static_cast<double>(io::AtomicFile::bytes_written() - before); }};
}

}  // namespace

Progress writing(const Console& console, const std::string& path, std::span<const Tensor> tensors) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  return writing_bytes(console, path, bytes);
}

Progress writing(const Console& console, const std::string& path, std::span<const NamedTensor> tensors) {
  std::int64_t bytes = 0;
  for (const NamedTensor& array : tensors) bytes += array.tensor.bytes();
  return writing_bytes(console, path, bytes);
}

}  // namespace attn::cli
