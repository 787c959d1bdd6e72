#include "prompts.h"

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "texts.h"

namespace attn::cli {

void PromptWords::declare(Options& options) {
  options.add("--prompt", texts, "TEXT", "a text to go on with; without any it is stdin").repeatable();
  options.add("--prompts", file, "FILE", "texts: a JSON array, or one in each line of a .txt; - is stdin");
  options.add("--ids", ids, "IDS", "token ids to go on with in place of a text: 1,2,3; no start token is added")
      .repeatable();
}

std::vector<std::string> read_texts(const PromptWords& words) {
  std::vector<std::string> texts = words.texts;
  if (words.file) {
    const std::vector<std::string> more = read_texts_file(*words.file);
    texts.insert(texts.end(), more.begin(), more.end());
    if (texts.empty()) throw bad_input("{}: it holds no texts", printable(*words.file));
  }
  if (texts.empty()) {
    std::string text = read_stdin();
    if (text.ends_with('\n')) text.pop_back();
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::vector<generate::Token>> read_ids(const PromptWords& words) {
  std::vector<std::vector<generate::Token>> out;
  for (const std::string& list : words.ids) out.push_back(parse_ids("--ids", list));
  return out;
}

}  // namespace attn::cli
