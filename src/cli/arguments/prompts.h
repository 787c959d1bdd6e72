// What a generation begins with: texts or ids, from the command line, a file or stdin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/decoder.h"
#include "attn/keras/task_info.h"
#include "attn/tokenizers/tokenizer.h"
#include "options/options.h"
#include "output/console.h"

namespace attn::cli {

/// The options, and what they were given.
struct PromptWords {
  std::vector<std::string> texts;   ///< --prompt
  std::vector<std::string> ids;     ///< --ids
  std::optional<std::string> file;  ///< --prompts
  /// --decoder-prompt and --decoder-ids: what the sequences of a model with an encoder begin with.
  std::vector<std::string> decoder_texts, decoder_ids;

  void declare(Options& options);
};

/// The texts: those of --prompt, of --prompts (a JSON array of strings, or where its name ends in .txt a text in each
/// line), else all of stdin. Throws Error.
[[nodiscard]] std::vector<std::string> read_texts(const PromptWords& words);

/// --ids "1,2,3". Throws Error (usage).
[[nodiscard]] std::vector<std::vector<generate::Token>> read_ids(const PromptWords& words);

/// What a model with an encoder reads.
struct EncoderPrompts {
  std::vector<std::vector<generate::Token>> encoder, decoder;
  std::vector<std::string> begun;  ///< the texts of --decoder-prompt, one for each; empty where ids were given
};

/// Tokens of a text that stay, its special ones among them.
struct EncoderLengths {
  std::int64_t encoder = 0, decoder = 0;
};

/// As Seq2SeqLMPreprocessor.generate_preprocess packs `texts`, or as --ids gives them. What is cut off the encoder's
/// texts is a warning. Throws Error (usage) where there are not as many decoder prompts as prompts, or one for all.
[[nodiscard]] EncoderPrompts pack_prompts(const PromptWords& words, const std::vector<std::string>& texts,
                                          const std::optional<keras::TaskInfo>& task,
                                          const tokenizers::Tokenizer* tokenizer, const tokenizers::EncodeOptions& how,
                                          const EncoderLengths& lengths, const Console& console);

}  // namespace attn::cli
