#include "output/status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "attn/base/text.h"

namespace attn::cli {
namespace {

bool is_drawn = false;  // guarded by StatusLine::mutex()
bool is_open = false;

void write_raw(const std::string& text) {
  // The line is decoration, so errors are ignored.
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

int columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::mutex& StatusLine::mutex() {
  static std::mutex mutex;
  return mutex;
}

void StatusLine::draw(const std::string& text) {
  if (display_width(text) >= columns()) return;
  write_raw("\r\x1b[K" + text);
  is_drawn = true;
}

void StatusLine::wipe() {
  if (std::exchange(is_drawn, false)) write_raw("\r\x1b[K");
}

void StatusLine::leave_open(bool open) { is_open = open; }

std::optional<std::unique_lock<std::mutex>> StatusLine::hide() {
  if (std::exchange(is_open, false)) {
    std::fputs("\n", stdout);
    std::fflush(stdout);
  }
  if (isatty(STDERR_FILENO) != 1) return std::nullopt;
  std::unique_lock lock(mutex());
  wipe();
  return lock;
}

}  // namespace attn::cli
