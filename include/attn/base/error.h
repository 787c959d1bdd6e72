// What ends a command: one exception type that carries its exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace attn {

/// The process exit codes that scripts may rely on.
enum class ExitCode : int {
  done = 0,
  differs = 1,       ///< it ran and a check failed, or the numbers differ
  usage = 2,         ///< the command line is wrong
  bad_input = 3,     ///< a file or config is wrong
  no_memory = 4,     ///< it does not fit in memory
  no_device = 5,     ///< the device is absent or failed
  internal = 70,     ///< our own bug
  interrupted = 130  ///< SIGINT (SIGTERM is 143)
};

/// Thrown for what ends a command. The message is one line that names the place, the thing and the way out; it is
/// printed once, by the command line. Text from files must pass `printable` before it gets in here.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

  /// What the caller may set otherwise, where that mends it: a field of attn::OpenOptions or attn::RunOptions, such as
  /// "sequence_length", else "". The message names no option of the program; the command line adds it.
  [[nodiscard]] const char* field() const noexcept { return field_; }
  /// `field` is a literal.
  Error& about(const char* field) noexcept {
    field_ = field;
    return *this;
  }

 private:
  ExitCode code_;
  const char* field_ = "";
};

/// An Error for a file or config that is wrong: `throw bad_input("{}: not a zip archive", path)`.
template <typename... Args>
[[nodiscard]] Error bad_input(fmt::format_string<Args...> format, Args&&... args) {
  return {ExitCode::bad_input, fmt::format(format, std::forward<Args>(args)...)};
}

/// An Error for a command line that is wrong.
template <typename... Args>
[[nodiscard]] Error bad_usage(fmt::format_string<Args...> format, Args&&... args) {
  return {ExitCode::usage, fmt::format(format, std::forward<Args>(args)...)};
}

/// An Error for what only our own bug can cause.
template <typename... Args>
[[nodiscard]] Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ExitCode::internal, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace attn
