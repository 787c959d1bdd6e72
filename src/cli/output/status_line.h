// The line on the terminal of stderr that is redrawn in place.
#pragma once

#include <mutex>
#include <optional>
#include <string>

namespace attn::cli {

/// The program has one such line. Code that draws the line holds its mutex; code that writes anything else to the
/// terminal hides the line.
class StatusLine {
 public:
  /// Guards the content of the terminal.
  [[nodiscard]] static std::mutex& mutex();

  /// Replaces the line by the text, if the terminal is wide enough. The caller holds the mutex.
  static void draw(const std::string& text);
  /// Erases the line. The caller holds the mutex.
  static void wipe();

  /// Records that the last line on stdout, such as a bar, is incomplete: the next output starts a new line.
  static void leave_open(bool open);

  /// Hides the line while the returned value exists, so that other code may write.
  [[nodiscard]] static std::optional<std::unique_lock<std::mutex>> hide();
};

}  // namespace attn::cli
