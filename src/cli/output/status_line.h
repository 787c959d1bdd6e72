// The line of the terminal that stderr is which is drawn over itself.
#pragma once

#include <mutex>
#include <optional>
#include <string>

namespace attn::cli {

/// One for the program. Whoever draws it holds its mutex; whoever writes anything else to the terminal hides it.
class StatusLine {
 public:
  /// Guards what is on the terminal.
  [[nodiscard]] static std::mutex& mutex();

  /// Shows the text in place of what was shown, where the terminal is wider than it. The caller holds the mutex.
  static void draw(const std::string& text);
  /// The caller holds the mutex.
  static void wipe();

  /// Says that the last line on stdout, as a bar's, has no end yet: whoever writes next begins a line of its own.
  static void leave_open(bool open);

  /// Keeps the line away while the value lives, so that others may write.
  [[nodiscard]] static std::optional<std::unique_lock<std::mutex>> hide();
};

}  // namespace attn::cli
