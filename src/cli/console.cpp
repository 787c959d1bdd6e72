#include "console.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attn/base/error.h"
#include "attn/io/atomic_file.h"

namespace attn::cli {
namespace {

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("attn", std::make_shared<spdlog::sinks::stderr_sink_st>());
    made.set_pattern("%v");
    return made;
  }();
  return instance;
}

bool wants_color(Color color) {
  if (color != Color::automatic) return color == Color::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

}  // namespace

void Console::line(std::string_view label, std::string_view style, std::string_view message) const {
  const bool colored = wants_color(color);
  logger().info("attn: {}{}{}{}", colored ? style : "", label, colored ? "\x1b[0m" : "", message);
}

void Console::warn(std::string_view message) const {
  if (!quiet) line("warning: ", "\x1b[33m", message);
}

void Console::note(std::string_view message) const {
  if (verbose) line("", "", message);
}

void Console::error(std::string_view message) const { line("error: ", "\x1b[31m", message); }

void write_result(const std::string& text, const std::optional<std::string>& path) {
  if (path && *path != "-") {
    io::AtomicFile file(*path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
    return;
  }
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw Error(ExitCode::bad_input, fmt::format("stdout: {}", std::strerror(errno)));
}

std::optional<int> terminal_columns() {
  if (isatty(STDOUT_FILENO) != 1) return std::nullopt;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    return std::atoi(columns);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace attn::cli
