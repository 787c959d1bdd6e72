// Ctrl-C, SIGTERM, the closed terminal and the closed pipe.
#pragma once

#include <functional>
#include <thread>

namespace attn::cli {

/// From here on SIGINT, SIGTERM, SIGHUP and SIGPIPE remove hidden files of half-written outputs and end the program at
/// once by the same signal, so that a shell sees 130, 143, 129 or 141. What the caller had ignored (nohup) stays
/// ignored, but for SIGPIPE. A limit on the size of files makes writes fail, as a full disk does.
void end_cleanly_on_signals() noexcept;

/// While it lives, writing into a closed pipe fails and does not end the program: what is printed on the way matters
/// less than the files that come at the end. One at a time.
class PipesMayClose {
 public:
  PipesMayClose() noexcept;
  ~PipesMayClose();
  PipesMayClose(const PipesMayClose&) = delete;
  PipesMayClose& operator=(const PipesMayClose&) = delete;
};

/// For a command whose results so far are worth having. While it lives, the first SIGINT, SIGTERM or SIGHUP is only
/// noted and asks all work to stop (attn/base/stop.h); the next one ends the program as ever, but for one that comes at
/// once, as that of timeout(1). Work that does not stop within a second and a half is left where it is, and the program
/// ends by the signal. One at a time.
class Interrupt {
 public:
  Interrupt() : Interrupt(std::function<void()>()) {}
  /// Work that does not stop is left once it only computes (attn/base/stop.h). `keep` runs then, on another thread, and
  /// the program ends with exit_code().
  explicit Interrupt(std::function<void()> keep);
  /// For ranks, which end together: work that does not stop is waited for.
  struct Waits {};
  explicit Interrupt(Waits);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The signal that came, or 0.
  [[nodiscard]] static int signal();
  /// The exit code of a program that a signal ended: 130, 143 or 129.
  [[nodiscard]] static int exit_code() { return exit_code(signal()); }
  [[nodiscard]] static int exit_code(int which) { return 128 + which; }

 private:
  void watch() const;

  std::function<void()> keep_;
  std::thread watcher_;
};

}  // namespace attn::cli
