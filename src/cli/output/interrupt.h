// Ctrl-C, SIGTERM, the closed terminal and the closed pipe.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace attn::cli {

/// After this call SIGINT, SIGTERM, SIGHUP and SIGPIPE remove hidden files of half-written outputs and end the program
/// immediately by the same signal, so that a shell sees 130, 143, 129 or 141. Signals that the caller ignored (nohup)
/// stay ignored, except SIGPIPE. Above a limit on file size writes fail, as on a full disk.
void end_cleanly_on_signals() noexcept;

/// While it exists, writing into a closed pipe fails and does not end the program, because the files at the end matter
/// more than the printed lines. One at a time.
class PipesMayClose {
 public:
  PipesMayClose() noexcept;
  ~PipesMayClose();
  PipesMayClose(const PipesMayClose&) = delete;
  PipesMayClose& operator=(const PipesMayClose&) = delete;
};

/// For a command whose partial results are useful. While it exists, the first SIGINT, SIGTERM or SIGHUP only asks all
/// work to stop (attn/base/stop.h); the next one ends the program as usual, unless it follows immediately, as that of
/// timeout(1). If work does not stop within a second and a half, the program ends by the signal. One at a time.
class Interrupt {
 public:
  Interrupt() : Interrupt(std::function<void()>()) {}
  /// Work that does not stop is abandoned once it only computes (attn/base/stop.h). Then `keep` runs on another thread,
  /// and the program ends with exit_code().
  explicit Interrupt(std::function<void()> keep);
  /// For ranks, which end together: the program waits for work that does not stop.
  struct Waits {};
  explicit Interrupt(Waits);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Returns the signal that arrived, or 0.
  [[nodiscard]] static int signal();
  /// Returns the exit code after the signal: 130, 143 or 129.
  [[nodiscard]] static int exit_code() { return exit_code(signal()); }
  [[nodiscard]] static int exit_code(int which) { return 128 + which; }

 private:
  void watch() const;

  std::function<void()> keep_;
  std::thread watcher_;  ///< the only one that receives the signals
  sigset_t mask_before_{};
};

}  // namespace attn::cli
