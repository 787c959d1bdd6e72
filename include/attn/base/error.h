// The exception type of all failures, with the program's exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace attn {

/// The process exit codes that scripts may rely on.
enum class ExitCode : int {
  done = 0,
  differs = 1,       ///< it ran and a check failed, or the results differ
  usage = 2,         ///< the command line is wrong
  bad_input = 3,     ///< a file or config is wrong
  no_memory = 4,     ///< it does not fit in memory
  no_device = 5,     ///< the device is absent or failed
  internal = 70,     ///< internal error
  interrupted = 130  ///< SIGINT (SIGTERM is 143)
};

/// Thrown for every failure of a command. The message is one line that names the place, the problem and a way out; the
/// command line prints it once. Text from files must pass `printable` before it is inserted.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

  /// The field of attn::OpenOptions or attn::RunOptions whose value can avoid the error, such as "sequence_length", or
  /// "". The message names no command-line option; the command line adds it.
  [[nodiscard]] const char* field() const noexcept { return field_; }
  /// `field` must be a string literal.
  Error& about(const char* field) noexcept {
    field_ = field;
    return *this;
  }

 private:
  ExitCode code_;
  const char* field_ = "";
};

/// Returns the Error for an invalid file or config: `throw bad_input("{}: not a zip archive", path)`.
template <typename... Args>
[[nodiscard]] Error bad_input(fmt::format_string<Args...> format, Args&&... args) {
  return {ExitCode::bad_input, fmt::format(format, std::forward<Args>(args)...)};
}

/// Returns the Error for an invalid command line.
template <typename... Args>
[[nodiscard]] Error bad_usage(fmt::format_string<Args...> format, Args&&... args) {
  return {ExitCode::usage, fmt::format(format, std::forward<Args>(args)...)};
}

/// Returns the Error for an internal error: a state that only a defect in attn can cause.
template <typename... Args>
[[nodiscard]] Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return {ExitCode::internal, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace attn
