// Progress on stderr, for work that takes over a second.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "attn/base/tensor.h"
#include "output/console.h"
#include "output/status_thread.h"

namespace attn::cli {

/// A line on the terminal of stderr with the remaining time, redrawn in place and erased at the end. It appears after a
/// second; never with --quiet, or if stderr is not a terminal. A thread draws it, so that it changes during a long
/// step. Only one is shown at a time; one that is created while another exists is silent.
class Progress final : public open::Work {
 public:
  /// `total` is the number of steps of any kind; 0 if unknown: then only the time is shown. `what` is shown unchanged:
  /// "init".
  Progress(const Console& console, const std::string& what, double total = 0.0);
  /// Shows `what` for `total` steps that the work counts itself. `done` returns the current count; another thread calls
  /// it.
  Progress(const Console& console, const std::string& what, double total, std::function<double()> done);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Adds finished steps. Thread-safe.
  void advance(double steps = 1.0) override;

 private:
  [[nodiscard]] std::string line() const;

  std::string what_;
  double total_;
  std::function<double()> meter_;
  std::atomic<double> done_ = 0.0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<StatusThread> thread_;
};

/// Returns "3 s", "2 min 05 s", "1 h 02 min".
[[nodiscard]] std::string coarse_time(double seconds);

/// Starts to show the writing of these arrays to `path`.
[[nodiscard]] Progress writing(const Console& console, const std::string& path, std::span<const Tensor> tensors);
[[nodiscard]] Progress writing(const Console& console, const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace attn::cli
