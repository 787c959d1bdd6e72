#include "output/terminal_text.h"

#include <algorithm>

#include "attn/base/text.h"

namespace attn::cli {
namespace {

/// The end of a CSV line (RFC 4180); harmless on a terminal.
constexpr std::string_view kCsvLineEnd = "\r\n";

/// Returns the bytes of "ESC [ 1 ; 31 m" at the start of `text`; 0 if there is none.
std::size_t color_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Returns the bytes of the character at the start of `text`; 1 if there is none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return is_utf8(text.substr(0, length)) ? std::min(length, text.size()) : 1;
}

constexpr bool is_printed(char c) noexcept { return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t'; }

/// Returns whether the character is a C1 control character (U+0080 to U+009F) or a byte that is not UTF-8.
bool is_control(std::string_view character) {
  if (character.size() == 1) return !is_printed(character[0]);
  return character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string terminal_text(std::string_view text, Colors colors) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_printed) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text.starts_with(kCsvLineEnd)) {
      out += kCsvLineEnd;
      text.remove_prefix(kCsvLineEnd.size());
      continue;
    }
    const std::size_t color = colors == Colors::kept ? color_length(text) : 0;
    const std::string_view character = text.substr(0, color > 0 ? color : character_length(text));
    out += color == 0 && is_control(character) ? printable(character) : std::string(character);
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace attn::cli
