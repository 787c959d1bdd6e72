#include "ascii.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace attn::cli {
namespace {

struct Sign {
  std::string_view utf8, ascii;
};

constexpr std::array<Sign, 45> kSigns{{
    {"─", "-"}, {"━", "="}, {"│", "|"}, {"┃", "|"}, {"┏", "+"}, {"┓", "+"}, {"┗", "+"}, {"┛", "+"}, {"┌", "+"},
    {"┐", "+"}, {"└", "+"}, {"┘", "+"}, {"├", "+"}, {"┤", "+"}, {"┬", "+"}, {"┴", "+"}, {"┼", "+"}, {"┳", "+"},
    {"┻", "+"}, {"┡", "+"}, {"┩", "+"}, {"╇", "+"}, {"┠", "+"}, {"┨", "+"}, {"╋", "+"}, {"█", "#"}, {"▒", "="},
    {"░", "."}, {"▏", "|"}, {"…", "~"}, {"·", "."}, {"×", "x"}, {"→", ">"}, {"←", "<"}, {"µ", "u"}, {"μ", "u"},
    {"≤", "<"}, {"≥", ">"}, {"–", "-"}, {"—", "-"}, {"²", "2"}, {"³", "3"}, {"✓", "+"}, {"✗", "x"}, {"±", "~"},
}};

enum class Form { plain, json, python };

Form form_of(std::string_view text) {
  if (text.starts_with("{'")) return Form::python;
  return text.starts_with('{') || text.starts_with('[') ? Form::json : Form::plain;
}

std::string escape(char32_t point, Form form) {
  const auto value = static_cast<std::uint32_t>(point);
  if (form == Form::plain) return fmt::format("\\u{{{:x}}}", value);
  if (value < 0x10000) return fmt::format("\\u{:04x}", value);
  if (form == Form::python) return fmt::format("\\U{:08x}", value);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((value - 0x10000) >> 10), 0xdc00 + ((value - 0x10000) & 0x3ff));
}

}  // namespace

Character front_of(std::string_view utf8) {
  const auto lead = static_cast<unsigned char>(utf8.front());
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t point = bytes == 1 ? lead : lead & (0x7fU >> bytes);
  for (const char tail : utf8.substr(1, bytes - 1)) point = (point << 6) | (static_cast<unsigned char>(tail) & 0x3fU);
  return {point, std::min(bytes, utf8.size())};
}

std::string ascii_text(std::string_view utf8) {
  const Form form = form_of(utf8);
  std::string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const auto [point, bytes] = front_of(utf8);
    const std::string_view character = utf8.substr(0, bytes);
    utf8.remove_prefix(bytes);
    const auto* sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& s) { return s.utf8 == character; });
    if (point < 0x80) {
      out += character;
    } else if (sign != kSigns.end() && form == Form::plain) {
      out += sign->ascii;
    } else {
      out += escape(point, form);
    }
  }
  return out;
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text = value;
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace attn::cli
