#include "arguments/texts.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"

namespace attn::cli {
namespace {

/// Limits for a JSON array of texts: bytes, and number of values.
constexpr io::JsonLimits kLimits{std::size_t{1} << 30, std::size_t{1} << 24};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> array_of(const std::string& place, std::string_view text) {
  const nlohmann::json json = io::parse_json(text, place, kLimits);
  if (!json.is_array())
    throw bad_input("{}: expected a JSON array of texts, or a .txt file with one text per line", place);
  std::vector<std::string> texts;
  for (const nlohmann::json& item : json) {
    if (!item.is_string()) throw bad_input("{}: /{}: expected a text, got {}", place, texts.size(), item.type_name());
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace

std::vector<std::string> read_texts_file(const std::string& path) {
  const io::Bytes file = io::read_file(path);
  return path.ends_with(".txt") ? lines_of(file.text())
                                : array_of(path == "-" ? "stdin" : printable(path), file.text());
}

std::string read_stdin(std::string_view what) {
  if (::isatty(STDIN_FILENO) != 1) return std::string(io::read_file("-").text());
  std::fputs((std::string(what) + "> ").c_str(), stderr);
  std::fflush(stderr);
  std::string line;
  std::getline(std::cin, line);
  return line;
}

std::vector<std::int32_t> parse_ids(const std::string& option, const std::string& text) {
  constexpr std::string_view kBetween = " ,\n\t";
  std::string_view rest = text;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  std::vector<std::int32_t> ids;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return ids;
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || id < 0 || (length < rest.size() && rest.find_first_of(kBetween) != length))
      throw bad_usage("{} '{}': expected non-negative ids, as in 464,2746", option, shortened(text));
    ids.push_back(id);
    rest.remove_prefix(length);
  }
}

}  // namespace attn::cli
