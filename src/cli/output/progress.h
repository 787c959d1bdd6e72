// How far work has come, on stderr, for work that takes over a second.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "attn/base/tensor.h"
#include "output/console.h"

namespace attn::cli {

/// One line on the terminal that stderr is, with the time left, drawn over itself and wiped at the end. It comes up
/// after a second; with --quiet, and where stderr is no terminal, never. A thread draws it, so that it lives while a
/// long step runs. One at a time is shown: one that is made while another lives is silent.
class Progress final : public open::Work {
 public:
  /// `total` steps of any kind; 0 where it is not known, and time alone is shown. `what` is said as it is: "init".
  Progress(const Console& console, const std::string& what, double total = 0.0);
  /// The same of work that counts its steps itself: `done` gives those so far, and is called by another thread.
  Progress(const Console& console, const std::string& what, double total, std::function<double()> done);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So many more steps are done. May be called from any thread.
  void advance(double steps = 1.0) override;

 private:
  void draw_until_done();
  [[nodiscard]] std::string line(double seconds) const;

  std::string what_;
  double total_;
  std::function<double()> meter_;
  std::atomic<double> done_ = 0.0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::condition_variable ended_;
  bool over_ = false;  // guarded by StatusLine::mutex()
  std::thread thread_;
};

/// "3 s", "2 min 05 s", "1 h 02 min"
[[nodiscard]] std::string coarse_time(double seconds);

/// While these arrays are written to `path`.
[[nodiscard]] Progress writing(const Console& console, const std::string& path, std::span<const Tensor> tensors);
[[nodiscard]] Progress writing(const Console& console, const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace attn::cli
