#include "prompts.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"

namespace attn::cli {
namespace {

std::string text_of(const std::string& path) {
  const io::Bytes bytes = io::read_file(path);
  return std::string(bytes.text());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> array_of(const std::string& path, const std::string& text) {
  const nlohmann::json json = io::parse_json(text, printable(path));
  if (!json.is_array())
    throw bad_input("{}: expected a JSON array of texts, or a file .txt with one in each line", printable(path));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_string())
      throw bad_input("{}: /{}: expected a text, got {}", printable(path), i, json[i].type_name());
    texts.push_back(json[i].get<std::string>());
  }
  return texts;
}

}  // namespace

void PromptWords::declare(Options& options) {
  options.add("--prompt", texts, "TEXT", "a text to go on with; without any it is stdin").repeatable();
  options.add("--prompts", file, "FILE", "texts: a JSON array, or one in each line of a .txt; - is stdin");
  options.add("--ids", ids, "IDS", "token ids to go on with in place of a text: 1,2,3; no start token is added")
      .repeatable();
}

std::vector<std::string> read_texts(const PromptWords& words) {
  std::vector<std::string> texts = words.texts;
  if (words.file) {
    const std::string text = text_of(*words.file);
    const std::vector<std::string> more = words.file->ends_with(".txt") ? lines_of(text) : array_of(*words.file, text);
    texts.insert(texts.end(), more.begin(), more.end());
    if (texts.empty()) throw bad_input("{}: it holds no texts", printable(*words.file));
  }
  if (texts.empty()) {
    std::string text = text_of("-");
    if (text.ends_with('\n')) text.pop_back();
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::vector<generate::Token>> read_ids(const PromptWords& words) {
  std::vector<std::vector<generate::Token>> out;
  for (const std::string& list : words.ids) {
    std::vector<generate::Token> tokens;
    for (const std::string& word : split(list, ',')) {
      generate::Token token = 0;
      const char* const first =
          word.data() + (word.empty()                                       ? 0
                         : word.find_first_not_of(' ') == std::string::npos ? 0
                                                                            : word.find_first_not_of(' '));
      const auto [end, error] = std::from_chars(first, word.data() + word.size(), token);
      if (error != std::errc() || end != word.data() + word.size() || token < 0)
        throw bad_usage("--ids {}: expected numbers from 0 on with commas between them", printable(list));
      tokens.push_back(token);
    }
    out.push_back(std::move(tokens));
  }
  return out;
}

}  // namespace attn::cli
