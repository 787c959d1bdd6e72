#include "arguments/expected_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"

namespace attn::cli {
namespace {

using generate::Token;
std::vector<Token> ids_of(const nlohmann::json& list, const std::string& place) {
  const auto is_id = [](const nlohmann::json& id) {
    return id.is_number_unsigned() && id.get<std::uint64_t>() <= std::numeric_limits<Token>::max();
  };
  if (!list.is_array() || !std::ranges::all_of(list, is_id))
    throw bad_input("{}: expected an array of non-negative token ids", place);
  return list.get<std::vector<Token>>();
}

std::vector<std::vector<Token>> from_json(const std::string& file, std::string_view text) {
  const nlohmann::json document = io::parse_json(text, file);
  const bool is_report = document.is_object();
  if (is_report && !(document.contains("results") && document["results"].is_array()))
    throw bad_input("{}: not a result of attn generate --json", file);
  std::vector<std::vector<Token>> out;
  for (const nlohmann::json& item : is_report ? document["results"] : document) {
    const std::string place = fmt::format("{}:{}/{}", file, is_report ? " /results" : " ", out.size());
    if (is_report && !(item.is_object() && item.contains("token_ids")))
      throw bad_input("{}: token_ids is missing", place);
    out.push_back(ids_of(is_report ? item["token_ids"] : item, place));
  }
  return out;
}

}  // namespace

std::vector<std::vector<Token>> read_expected_ids(const std::string& path) {
  const std::string file = path == "-" ? "stdin" : printable(path);
  const io::Bytes bytes = io::read_file(path);
  const std::string_view text = bytes.text();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw bad_input("{}: the file contains no token ids", file);
  if (text[first] == '{' || text[first] == '[') return from_json(file, text);
  std::vector<std::vector<Token>> out;
  for (const std::string& line : split(text, '\n')) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      out.push_back(parse_ids(file, line));
    } catch (const Error& error) {  // parse_ids reports errors of the command line; these are errors of the file
      throw bad_input("{}", error.what());
    }
  }
  return out;
}

std::vector<std::string> differences(const std::string& path, const std::vector<std::vector<Token>>& expected,
                                     std::span<const generate::Sequence> got) {
  std::vector<std::string> out;
  const std::string file = printable(path);
  if (expected.size() != got.size())
    out.push_back(fmt::format("{} has {} sequences, but {} were generated", file, expected.size(), got.size()));
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const std::vector<Token>&want = expected[i], &have = got[i].token_ids;
    const auto [a, b] = std::ranges::mismatch(want, have);
    if (a == want.end() && b == have.end()) continue;
    const auto shown = [](const auto& at, const std::vector<Token>& ids) {
      return at == ids.end() ? std::string("its end") : std::to_string(*at);
    };
    out.push_back(fmt::format("sequence {} differs from {} at token {}: expected {}, got {}", i + 1, file,
                              a - want.begin(), shown(a, want), shown(b, have)));
  }
  return out;
}

}  // namespace attn::cli
