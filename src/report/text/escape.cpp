#include "escape.h"

#include <fmt/format.h>

#include <vector>

#include "attn/base/text.h"

namespace attn::report {
namespace {

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns the characters of valid UTF-8.
std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    out.push_back(text.substr(i, length));
    i += length;
  }
  return out;
}

Json printable_strings(const Json& json) {
  if (json.is_string()) return printable(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json out = json.is_array() ? Json::array() : Json::object();
  if (json.is_array())
    for (const Json& item : json) out.push_back(printable_strings(item));
  else
    for (const auto& [key, item] : json.items()) out[printable(key)] = printable_strings(item);
  return out;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  const std::string safe = printable(text);
  for (const std::string_view character : characters_of(safe)) {
    if (character == "&") {
      out += "&amp;";
    } else if (character == "<") {
      out += "&lt;";
    } else if (character == ">") {
      out += "&gt;";
    } else if (character == "\"") {
      out += "&quot;";
    } else if (character == "'") {
      out += "&#39;";
    } else if (character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf") {
      out += character.back() == '\xbe' ? "\\u{fffe}" : "\\u{ffff}";  // not valid XML characters
    } else {
      out += character;
    }
  }
  return out;
}

std::string xml_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> safe;
  for (const std::string& line : lines) safe.push_back(xml_text(line));
  return join(safe, "&#10;");
}

std::string dot_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    // Graphviz interprets entities in labels.
    if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string mermaid_text(std::string_view text) {
  constexpr std::string_view kPlain = " _-./(),:";
  std::string out;
  for (const char c : printable(text)) {
    const bool plain =
        is_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80 || kPlain.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("#{};", static_cast<int>(c));
    }
  }
  return out;
}

std::string script_json(const Json& json) {
  std::string out;
  for (const char c : printable_strings(json).dump()) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string shortened(std::string_view text, int cells) {
  if (display_width(text) <= cells) return std::string(text);
  const std::vector<std::string_view> characters = characters_of(text);
  std::string head, tail;
  const int half = (cells - 1) / 2;
  int width = 0;
  for (const std::string_view character : characters) {
    width += display_width(character);
    if (width > cells - 1 - half) break;
    head += character;
  }
  width = 0;
  for (std::size_t i = characters.size(); i-- > 0;) {
    width += display_width(characters[i]);
    if (width > half) break;
    tail.insert(0, characters[i]);
  }
  return head + "…" + tail;
}

}  // namespace attn::report
