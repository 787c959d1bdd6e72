// Converts between text and token ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::tokenizers {

/// A token id: a row of the embedding table.
using Id = std::int32_t;

/// Ids with a meaning for text generation.
struct SpecialIds {
  std::optional<Id> start, end, pad;
  std::vector<Id> stop;   ///< any of these ends a text; includes the end token
  std::vector<Id> all;    ///< ids that are not text, in ascending order
  std::vector<Id> shown;  ///< those of them that an answer keeps

  /// Returns whether an answer omits the token.
  [[nodiscard]] bool hides(Id id) const;
};

struct EncodeOptions {
  bool specials_in_text = true;  ///< parse "<|endoftext|>" in a text as the special token instead of thirteen letters
  bool add_specials = false;     ///< add the special tokens that the tokenizer's file defines around a text: [CLS] …
                                 ///< [SEP]
};

/// A vocabulary, and the rules that split texts into its tokens. Immutable: threads may share one.
class Tokenizer {
 public:
  Tokenizer() = default;
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Returns the ids of a text. Throws Error (usage) for invalid UTF-8.
  [[nodiscard]] std::vector<Id> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Returns the text of ids, including special ones. Byte-level tokenizers return the bytes of the ids, which are
  /// invalid UTF-8 if they end inside a character (see `valid_utf8`). Throws Error (usage) for an id outside the
  /// vocabulary.
  [[nodiscard]] virtual std::string decode(std::span<const Id> ids) const = 0;

  /// Returns the spelling of a token in its file ("Ġthe", "##ing", "▁a"); empty for an invalid id.
  [[nodiscard]] virtual std::optional<std::string> token(Id id) const = 0;
  /// Returns the id of a token, given its spelling in the file.
  [[nodiscard]] virtual std::optional<Id> id(std::string_view token) const = 0;

  /// Returns the number of tokens: KerasHub's `vocabulary_size()`.
  [[nodiscard]] virtual std::int64_t size() const = 0;

  /// Returns the tokenizer's Keras class, "GPT2Tokenizer", or the model of a tokenizer.json, "BPE".
  [[nodiscard]] const std::string& class_name() const noexcept { return class_name_; }
  [[nodiscard]] const SpecialIds& specials() const noexcept { return specials_; }

 protected:
  /// `text` is valid UTF-8.
  [[nodiscard]] virtual std::vector<Id> encode_valid(std::string_view text, const EncodeOptions& options) const = 0;

  std::string class_name_;
  SpecialIds specials_;
};

/// Replaces invalid bytes with U+FFFD, one for each longest prefix of a character and for each byte that begins none,
/// like Python's "replace" and Rust's from_utf8_lossy.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace attn::tokenizers
