// What a generation begins with: texts or ids, from the command line, a file or stdin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/decoder.h"
#include "options/options.h"

namespace attn::cli {

/// The options, and what they were given.
struct PromptWords {
  std::vector<std::string> texts;   ///< --prompt
  std::vector<std::string> ids;     ///< --ids
  std::optional<std::string> file;  ///< --prompts

  void declare(Options& options);
};

/// The texts: those of --prompt, of --prompts (a JSON array of strings, or where its name ends in .txt a text in each
/// line), else all of stdin. Throws Error.
[[nodiscard]] std::vector<std::string> read_texts(const PromptWords& words);

/// --ids "1,2,3". Throws Error (usage).
[[nodiscard]] std::vector<std::vector<generate::Token>> read_ids(const PromptWords& words);

}  // namespace attn::cli
