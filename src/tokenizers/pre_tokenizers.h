// The ways in which tokenizer files cut a text into words before a model sees it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pieces.h"

namespace attn::tokenizers {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};
using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

/// GPT-2's words. "'s" and the like, letters, digits and other signs with the space before them, and spaces.
inline constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Bloom's words, which end at punctuation.
inline constexpr const char* kBloomWords = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";
/// Llama 3's words.
inline constexpr const char* kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Qwen's words, since Qwen 2.
inline constexpr const char* kQwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Cuts by a pattern. `invert`: what does not match counts as a match.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_split(Pattern pattern, Behavior behavior, bool invert);
/// Writes bytes as letters (byte_level.h), after cutting into GPT-2's words where `use_regex` says so.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex);

enum class Prepend : std::uint8_t { always, first, never };
/// Puts `replacement` for spaces, and before the text (`first`) or each piece (`always`); `split` cuts before each.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_metaspace(std::string replacement, Prepend prepend, bool split);

/// At white space, which goes, and at punctuation, which stays.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_bert_words();
/// At white space alone.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_white_space_split();
/// Between letters, numbers and connectors on one side and all else on the other.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_word_runs();
[[nodiscard]] std::unique_ptr<PreTokenizer> make_digits(bool individual_digits);
[[nodiscard]] std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior);

}  // namespace attn::tokenizers
