#include "output/console.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/report/terminal.h"
#include "options/field_names.h"
#include "output/locale.h"
#include "output/status_line.h"
#include "output/terminal_text.h"

namespace attn::cli {
namespace {

constexpr std::string_view kPlain = "\x1b[0m";

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("attn", std::make_shared<spdlog::sinks::stderr_sink_st>());
    made.set_pattern("%v");
    return made;
  }();
  return instance;
}

/// Writes the last line of a program that ends. It takes one write to stderr and allocates nothing, because memory may
/// be exhausted. Errors are ignored.
void write_line(std::string_view style, std::string_view label, std::string_view message) noexcept {
  const auto part = [](std::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
  const std::array parts = {part("attn: "), part(style), part(label), part(style.empty() ? "" : kPlain),
                            part(message),  part("\n")};
  [[maybe_unused]] const ssize_t ignored = ::writev(STDERR_FILENO, parts.data(), parts.size());
}

bool wants_color(int descriptor) {
  if (Console::color != Color::automatic) return Console::color == Color::always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

/// Makes a text safe for its destination: terminal, pipe or file. A model's text consists of its tokens; any other text
/// may contain parts of files.
std::string safe(std::string text, Formatting formatting, bool is_terminal, bool is_colored = false) {
  if (formatting == Formatting::fitting) return terminal_text(text, is_colored ? Colors::kept : Colors::escaped);
  if (!is_terminal || (formatting == Formatting::model_text && Console::raw)) return text;
  return terminal_text(text);
}

bool wants_ascii(int descriptor) { return Console::ascii || (isatty(descriptor) == 1 && !locale_is_utf8()); }

void put(std::string text, int descriptor, Formatting formatting) {
  const std::optional<int> columns = descriptor == STDOUT_FILENO ? terminal_columns() : std::nullopt;
  text = safe(std::move(text), formatting, isatty(descriptor) == 1, wants_color(descriptor));
  if (formatting == Formatting::fitting && columns) text = report::folded_tables(text, *columns);
  if (formatting == Formatting::fitting && wants_color(descriptor)) text = report::colored_result(text);
  if (formatting == Formatting::fitting && wants_ascii(descriptor)) text = report::ascii_text(text);
  const auto hidden = StatusLine::hide();
  try {
    io::AtomicFile file(descriptor == STDOUT_FILENO ? "-" : "/dev/stderr");
    file.write(text);
    file.commit();
  } catch (const Error&) {
    if (descriptor == STDOUT_FILENO) throw;  // only stdout has results, so a failure on stderr is ignored
  }
}

/// Shortens a long message in the middle: its beginning has the place, and its end has the solution.
std::string cut(std::string_view message) {
  constexpr std::size_t kMost = 2000, kEnd = 400;
  if (message.size() <= kMost) return std::string(message);
  std::string_view end = message.substr(message.size() - kEnd);
  // Moves the cut to the boundary of a UTF-8 character.
  while (!end.empty() && (static_cast<unsigned char>(end.front()) & 0xC0) == 0x80) end.remove_prefix(1);
  return shortened(message, kMost - kEnd) + std::string(end);
}

/// Returns the message as stderr shows it.
std::string fit(std::string_view message) {
  const std::string whole = terminal_text(cut(with_option_names(message)));
  return wants_ascii(STDERR_FILENO) ? report::ascii_text(whole) : whole;
}

}  // namespace

void Console::line(std::string_view label, std::string_view style, std::string_view message) const {
  const bool colored = wants_color(STDERR_FILENO);
  const auto hidden = StatusLine::hide();
  logger().info("attn: {}{}{}{}", colored ? style : "", label, colored && !style.empty() ? kPlain : "", fit(message));
}

void Console::warn(std::string_view message) const {
  if (!quiet) line("warning: ", "\x1b[33m", message);
}

void Console::note(std::string_view message) const {
  if (verbose) line("", "", message);
}

void Console::error(std::string_view message) const noexcept {
  try {
    const std::string text = fit(message);
    const auto hidden = StatusLine::hide();
    write_line(wants_color(STDERR_FILENO) ? "\x1b[31m" : "", "error: ", text);
  } catch (const std::exception&) {
    write_line("", "error: ", message);
  }
}

void choose_alphabet(const std::optional<std::string>& path) {
  const bool to_file = path && *path != "-";
  const bool ascii = to_file ? Console::ascii : wants_ascii(STDOUT_FILENO);
  report::write_cells_in(ascii ? report::Alphabet::ascii : report::Alphabet::unicode);
}

void write_result(const std::string& text, const std::optional<std::string>& path, Formatting formatting) {
  if (path && *path != "-") {
    std::string written = io::is_terminal(*path) ? safe(text, formatting, true) : text;
    if (Console::ascii && formatting == Formatting::fitting) written = report::ascii_text(written);
    io::AtomicFile file(*path);
    file.write(std::as_bytes(std::span(written)));
    file.commit();
    return;
  }
  put(text, STDOUT_FILENO, formatting);
}

void write_now(std::string_view text, Formatting formatting) {
  const auto hidden = StatusLine::hide();
  const std::string shown = safe(std::string(text), formatting, isatty(STDOUT_FILENO) == 1);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

void write_report(const std::string& text, const Console& console, bool stdout_is_taken) {
  if (!stdout_is_taken) return write_result(text, std::nullopt);
  if (!console.quiet) put(text, STDERR_FILENO, Formatting::fitting);
}

bool colors_results() { return wants_color(STDOUT_FILENO); }

std::optional<int> terminal_columns() {
  if (isatty(STDOUT_FILENO) != 1) return std::nullopt;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0)
    return std::atoi(columns);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace attn::cli
