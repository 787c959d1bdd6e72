#include "text_lines.h"

#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "python_literal.h"
#include "text/characters.h"
#include "tokenizer_json.h"

namespace attn::tokenizers {
namespace {

/// Removes white space at the end of the line, as Python's str.rstrip does.
std::string_view without_space_at_end(std::string_view line) {
  while (!line.empty()) {
    const std::size_t last = point_before(line, line.size());
    std::size_t at = last;
    const char32_t point = next_point(line, at);
    if (!is_white_space(point) && !(point >= 0x1c && point <= 0x1f)) break;
    line = line.substr(0, last);
  }
  return line;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text, const std::string& place) {
  if (!is_utf8(text)) throw bad_input("{}: not valid UTF-8", place);
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(without_space_at_end(text.substr(0, end)));
    text.remove_prefix(end);
    if (!text.empty()) text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
  }
  return lines;
}

MergeRules read_merges(std::string_view text, const std::string& place) {
  MergeRules rules;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text, place)) {
    ++number;
    if (line.find("#version:") == std::string_view::npos) rules.add_line(line, fmt::format("{}:{}", place, number));
  }
  return rules;
}

Vocabulary read_token_lines(std::string_view text, const std::string& place) {
  Vocabulary vocabulary(place);
  std::int64_t id = 0;
  for (const std::string_view line : lines_of(text, place))
    vocabulary.add(line, id++, Vocabulary::Repeats::last_counts);
  return vocabulary;
}

Vocabulary read_numbered_tokens(std::string_view text, const std::string& place) {
  Vocabulary vocabulary(place);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text, place)) {
    const std::string here = fmt::format("{}:{}", place, ++number);
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    if (first == std::string_view::npos || last == first)
      throw bad_input("{}: expected an id, a string as Python writes it, and its length in bytes", here);
    const auto integer = [&](std::string_view digits) {
      const auto value = parse_number<std::int64_t>(digits);
      if (!value) throw bad_input("{}: expected an integer, not '{}'", here, shortened(digits));
      return *value;
    };
    const std::string token = bytes_of_literal(line.substr(first + 1, last - first - 1), here);
    if (integer(line.substr(last + 1)) != std::ssize(token))
      throw bad_input("{}: the token has {} bytes, not {}", here, token.size(), line.substr(last + 1));
    vocabulary.add(token, integer(line.substr(0, first)), Vocabulary::Repeats::last_counts);
  }
  return vocabulary;
}

Vocabulary read_token_table(std::string_view text, const std::string& place) {
  Vocabulary vocabulary(place);
  const std::vector<io::JsonTable> tables = {
      {"", [&](std::string_view token, const nlohmann::json& id) { vocabulary.add(token, id_in(id, token, place)); }}};
  if (!io::parse_json(text, place, kTokenizerJsonLimits, tables).is_object())
    throw bad_input("{}: expected an object of tokens with their ids", place);
  return vocabulary;
}

}  // namespace attn::tokenizers
