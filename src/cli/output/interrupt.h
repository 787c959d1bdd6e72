// Reactions to Ctrl-C, SIGTERM, a closed terminal and a closed pipe.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace attn::cli {

/// Installs handlers for SIGINT, SIGTERM, SIGHUP and SIGPIPE. They remove the hidden files of half-written outputs, and
/// end the program by the same signal, so that a shell sees 130, 143, 129 or 141. Signals that the caller ignored
/// (nohup) stay ignored, except SIGPIPE. Writes beyond a limit on file size fail, as on a full disk.
void end_cleanly_on_signals() noexcept;

/// While it exists, a write to a closed pipe fails and does not end the program. The files that are written at the end
/// matter more than the printed lines. At most one exists at a time.
class BrokenPipeGuard {
 public:
  BrokenPipeGuard() noexcept;
  ~BrokenPipeGuard();
  BrokenPipeGuard(const BrokenPipeGuard&) = delete;
  BrokenPipeGuard& operator=(const BrokenPipeGuard&) = delete;
};

/// For a command whose partial results are useful. While it exists, the first SIGINT, SIGTERM or SIGHUP only requests
/// that all work stops (attn/base/stop.h). A second signal ends the program as usual, unless it follows within 50 ms,
/// as timeout(1) sends two. If work does not stop within 1.5 s, the program ends by the signal. At most one exists at a
/// time.
class Interrupt {
 public:
  Interrupt() : Interrupt(std::function<void()>()) {}
  /// Abandons work that does not stop, once the work only computes (attn/base/stop.h). Then `keep` runs on another
  /// thread, and the program ends with exit_code().
  explicit Interrupt(std::function<void()> keep);
  /// For ranks, which end together: the program waits until the work stops.
  struct WaitForWork {};
  explicit Interrupt(WaitForWork);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Returns the signal that arrived, or 0.
  [[nodiscard]] static int signal();
  /// Returns the exit code for that signal: 130, 143 or 129.
  [[nodiscard]] static int exit_code() { return exit_code(signal()); }
  [[nodiscard]] static int exit_code(int which) { return 128 + which; }

 private:
  void watch() const;

  std::function<void()> keep_;
  std::thread watcher_;  ///< the only thread that receives the signals
  sigset_t mask_before_{};
};

}  // namespace attn::cli
