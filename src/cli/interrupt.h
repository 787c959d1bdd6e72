// Ctrl-C and SIGTERM, for commands whose results so far are worth having.
#pragma once

#include <functional>

namespace attn::cli {

/// While it lives, the first SIGINT or SIGTERM is only noted; the next one ends the program at once, as ever.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The signal that came, or 0.
  [[nodiscard]] static int signal();
  /// The exit code of a program that a signal ended: 130 or 143.
  [[nodiscard]] static int exit_code() { return 128 + signal(); }
};

}  // namespace attn::cli
