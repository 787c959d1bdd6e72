// Prompts of a generation: texts or ids, from the command line, a file or stdin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/decoder.h"
#include "attn/generate/encoder_prompts.h"
#include "options/options.h"

namespace attn::cli {

/// The values of the prompt options.
struct PromptWords {
  std::vector<std::string> texts;   ///< --prompt
  std::vector<std::string> ids;     ///< --ids
  std::optional<std::string> file;  ///< --prompts
  /// --decoder-prompt and --decoder-ids: the start of the output for a model with an encoder.
  std::vector<std::string> decoder_texts, decoder_ids;

  void declare(Options& options);
};

/// Returns the texts of --prompt, else of --prompts (a JSON array of strings, or the lines of a .txt), else stdin as
/// one text. Throws Error.
[[nodiscard]] std::vector<std::string> read_texts(const PromptWords& words);

/// Parses --ids "1,2,3". Throws Error (usage).
[[nodiscard]] std::vector<std::vector<generate::Token>> read_ids(const PromptWords& words);

/// Returns all prompts for a model with an encoder: `texts` if the model has a tokenizer, else the ids of --ids. Throws
/// Error (usage).
[[nodiscard]] generate::EncoderWords encoder_words(const PromptWords& words, std::vector<std::string> texts,
                                                   bool has_tokenizer);

}  // namespace attn::cli
