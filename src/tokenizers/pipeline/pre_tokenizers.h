// The pre-tokenizers of tokenizer files: they split a text into words before the model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/pieces.h"
#include "attn/tokenizers/tables.h"

namespace attn::tokenizers {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};
using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

/// Splits by a pattern. With `invert`, the text between matches counts as matches.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_split(Pattern pattern, Behavior behavior, bool invert);
/// Converts bytes to letters (byte_level.h); with `use_regex`, splits by GPT-2's pattern first.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex);

enum class Prepend : std::uint8_t { always, first, never };
/// Replaces spaces with `replacement` and prepends it to the text (`first`) or to each piece (`always`); `split` splits
/// before each replacement.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_metaspace(std::string replacement, Prepend prepend, bool split);

/// Splits at white space, which is dropped, and at punctuation, which is kept.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_bert_words();
/// Splits at white space only.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_white_space_split();
/// Splits between word characters (letters, numbers, connectors) and all others.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_word_runs();
[[nodiscard]] std::unique_ptr<PreTokenizer> make_digits(bool individual_digits);
[[nodiscard]] std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior);

}  // namespace attn::tokenizers
