#include "attn/report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "attn/base/text.h"

namespace attn::report {
namespace {

// A number that the JSON library cannot store is kept as digits in a binary value, the only type that does not occur in
// JSON text.
constexpr std::uint64_t kDigits = 1;

void append_escaped_unit(std::string& out, unsigned unit) { out += fmt::format("\\u{:04x}", unit); }

void append_escaped(std::string& out, std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  unsigned point = character.size() == 1 ? byte(0) : byte(0) & (0x7fU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) point = (point << 6) | (byte(i) & 0x3fU);
  if (point < 0x10000) {
    append_escaped_unit(out, point);
  } else {
    append_escaped_unit(out, 0xd800 + ((point - 0x10000) >> 10));
    append_escaped_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
  }
}

/// The text is valid UTF-8.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const std::string_view character = text.substr(i, length);
    i += length;
    if (lead == '"' || lead == '\\') {
      out += '\\';
      out += character;
    } else if (lead == '\n') {
      out += "\\n";
    } else if (lead == '\t') {
      out += "\\t";
    } else if ((lead >= 0x20 && lead < 0x7f) || printable(character) == character) {
      out += character;
    } else {
      append_escaped(out, character);
    }
  }
  out += '"';
}

void append_float(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::string text = fmt::format("{}", value);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

bool is_plain_list(const Json& list) {
  for (const Json& element : list) {
    if (element.is_structured()) return false;
  }
  return true;
}

void append_value(std::string& out, const Json& value, int depth);

void append_list(std::string& out, const Json& list, int depth) {
  const bool one_line = is_plain_list(list);
  const std::string indent(one_line ? 0 : static_cast<std::size_t>(2 * (depth + 1)), ' ');
  out += '[';
  bool first = true;
  for (const Json& element : list) {
    if (!first) out += one_line ? ", " : ",";
    if (!one_line) out += '\n' + indent;
    append_value(out, element, depth + 1);
    first = false;
  }
  if (!one_line) out += '\n' + std::string(static_cast<std::size_t>(2 * depth), ' ');
  out += ']';
}

void append_object(std::string& out, const Json& object, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * (depth + 1)), ' ');
  out += '{';
  bool first = true;
  for (const auto& [key, member] : object.items()) {
    if (!first) out += ',';
    out += '\n' + indent;
    append_string(out, is_utf8(key) ? key : printable(key));
    out += ": ";
    append_value(out, member, depth + 1);
    first = false;
  }
  if (!first) out += '\n' + std::string(static_cast<std::size_t>(2 * depth), ' ');
  out += '}';
}

void append_value(std::string& out, const Json& value, int depth) {
  switch (value.type()) {
    case Json::value_t::object:
      return append_object(out, value, depth);
    case Json::value_t::array:
      return append_list(out, value, depth);
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return append_string(out, is_utf8(text) ? text : printable(text));
    }
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return;
    case Json::value_t::number_integer:
      out += fmt::format("{}", value.get<std::int64_t>());
      return;
    case Json::value_t::number_unsigned:
      out += fmt::format("{}", value.get<std::uint64_t>());
      return;
    case Json::value_t::number_float:
      return append_float(out, value.get<double>());
    case Json::value_t::binary: {
      const auto& digits = value.get_binary();
      out.append(digits.begin(), digits.end());
      return;
    }
    case Json::value_t::null:
    case Json::value_t::discarded:
      out += "null";
      return;
  }
}

}  // namespace

Json json_integer(UInt128 value) {
  if (value <= std::numeric_limits<std::uint64_t>::max()) return static_cast<std::uint64_t>(value);
  const std::string digits = fmt::format("{}", value);
  return Json::binary({digits.begin(), digits.end()}, kDigits);
}

Json json_text(std::string_view text) { return is_utf8(text) ? std::string(text) : printable(text); }

Json json_shape(const Shape& shape) {
  Json list = Json::array();
  for (const Dim dim : shape) list.push_back(dim == kUnknown ? Json(nullptr) : Json(dim));
  return list;
}

Json json_numbers(const std::vector<double>& numbers) {
  return numbers.size() == 1 ? Json(numbers.front()) : Json(numbers);
}

std::string json_document(const Json& json) {
  std::string out;
  append_value(out, json, 0);
  out += '\n';
  return out;
}

std::string json_line(const Json& json) {
  // Strings contain no newline character, only "\n", so each newline is formatting.
  const std::string document = json_document(json);
  std::string out;
  for (std::size_t i = 0; i + 1 < document.size(); ++i) {
    if (document[i] != '\n') {
      out += document[i];
      continue;
    }
    if (document[i - 1] == ',') out += ' ';
    while (document[i + 1] == ' ') ++i;
  }
  return out + '\n';
}

}  // namespace attn::report
