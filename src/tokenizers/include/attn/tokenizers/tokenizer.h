// Text to ids and back, as the tokenizer of a model does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::tokenizers {

/// The number of a token: a row of the embedding.
using Id = std::int32_t;

/// Ids that mean something to who generates text.
struct SpecialIds {
  std::optional<Id> start, end, pad;
  std::vector<Id> stop;  ///< a text ends with any of these; the end token is among them
  std::vector<Id> all;   ///< what is no text, ascending: left out where a text is shown
};

struct EncodeOptions {
  bool specials_in_text = true;  ///< is "<|endoftext|>" in a text the special token, or thirteen letters?
  bool add_specials = false;     ///< put around the text what the tokenizer's own file puts there: [CLS] … [SEP]
};

/// A vocabulary and the way texts are cut into it. A tokenizer does not change: threads may share one.
class Tokenizer {
 public:
  Tokenizer() = default;
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The ids of a text. Throws Error (usage) for one that is no UTF-8.
  [[nodiscard]] std::vector<Id> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The text of ids, special ones included. Byte-level tokenizers give the bytes that the ids stand for, which are no
  /// UTF-8 where they end inside a letter (`valid_utf8` makes text of them). Throws Error (usage) for an id that is
  /// none of the vocabulary.
  [[nodiscard]] virtual std::string decode(std::span<const Id> ids) const = 0;

  /// A token as its file spells it ("Ġthe", "##ing", "▁a"); nothing where the id is none.
  [[nodiscard]] virtual std::optional<std::string> token(Id id) const = 0;
  /// The id of a token as its file spells it.
  [[nodiscard]] virtual std::optional<Id> id(std::string_view token) const = 0;

  /// The number of tokens: `vocabulary_size()` of KerasHub.
  [[nodiscard]] virtual std::int64_t size() const = 0;

  /// The class that Keras has for it, "GPT2Tokenizer", or the model of a tokenizer.json, "BPE".
  [[nodiscard]] const std::string& class_name() const noexcept { return class_name_; }
  [[nodiscard]] const SpecialIds& specials() const noexcept { return specials_; }

 protected:
  /// `text` is valid UTF-8.
  [[nodiscard]] virtual std::vector<Id> encode_valid(std::string_view text, const EncodeOptions& options) const = 0;

  std::string class_name_;
  SpecialIds specials_;
};

/// Bytes as text: each longest run that begins a letter and does not end it, and each byte that begins none, is U+FFFD,
/// as Python's "replace" and Rust's from_utf8_lossy have it.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace attn::tokenizers
