#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "attn/base/text.h"
#include "attn/report/terminal.h"
#include "cells.h"

namespace attn::report {
namespace {

Alphabet of_cells = Alphabet::unicode;

struct Sign {
  std::string_view utf8, ascii;
};

constexpr std::array<Sign, 44> kSigns{{
    {"─", "-"}, {"━", "="}, {"│", "|"}, {"┃", "|"}, {"┏", "+"}, {"┓", "+"}, {"┗", "+"}, {"┛", "+"}, {"┌", "+"},
    {"┐", "+"}, {"└", "+"}, {"┘", "+"}, {"├", "+"}, {"┤", "+"}, {"┬", "+"}, {"┴", "+"}, {"┼", "+"}, {"┳", "+"},
    {"┻", "+"}, {"┡", "+"}, {"┩", "+"}, {"╇", "+"}, {"┠", "+"}, {"┨", "+"}, {"╋", "+"}, {"█", "#"}, {"▒", "="},
    {"░", "."}, {"▏", "|"}, {"…", "~"}, {"×", "x"}, {"→", ">"}, {"←", "<"}, {"µ", "u"}, {"μ", "u"}, {"≤", "<"},
    {"≥", ">"}, {"–", "-"}, {"—", "-"}, {"²", "2"}, {"³", "3"}, {"✓", "+"}, {"✗", "x"}, {"±", "~"},
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

std::string ascii(std::string_view text, Form form) {
  std::string out;
  out.reserve(text.size());
  const auto points = code_points(text);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const char32_t point = points[i];
    if (point < 0x80) {
      out += static_cast<char>(point);
      continue;
    }
    // A dot between factors is written without spaces, "4·d_model"; one that marks a nested layer is followed by a
    // space.
    if (constexpr char32_t kDot = U'·'; form == Form::plain && point == kDot) {
      out += i + 1 < points.size() && points[i + 1] != U' ' ? '*' : '.';
      continue;
    }
    const std::string character = utf8({&point, 1});
    const auto* sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& s) { return s.utf8 == character; });
    const bool power = form == Form::plain && (character == "²" || character == "³");
    if (power) out += '^';
    out += sign != kSigns.end() && form == Form::plain ? std::string(sign->ascii) : escape(point, form);
  }
  return out;
}

}  // namespace

void write_cells_in(Alphabet alphabet) { of_cells = alphabet; }

std::string ascii_text(std::string_view text) { return ascii(text, form_of(text)); }

std::string cell_text(std::string_view printable_text) {
  return of_cells == Alphabet::ascii ? ascii(printable_text, Form::plain) : std::string(printable_text);
}

}  // namespace attn::report
