// Guesses of the next tokens, several of which a decoder checks at once: speculative decoding (Leviathan et al., Fast
// Inference from Transformers via Speculative Decoding, 2023).
#pragma once

#include <span>
#include <vector>

#include "attn/generate/decoder.h"

namespace attn::generate {

class Draft {
 public:
  virtual ~Draft() = default;
  /// Returns at most `most` tokens that may follow `tokens`, a sequence from its beginning; none if there is no guess.
  /// Throws the errors of Decoder::advance.
  [[nodiscard]] virtual std::vector<Token> propose(std::span<const Token> tokens, Dim most) = 0;
};

/// Finds an earlier occurrence of the last tokens and proposes the tokens that followed it. The longest match of up to
/// `kLongest` tokens wins; among several, the latest.
class PromptLookup final : public Draft {
 public:
  static constexpr std::size_t kLongest = 3;
  [[nodiscard]] std::vector<Token> propose(std::span<const Token> tokens, Dim most) override;
};

/// Proposes the greedy continuation of a smaller decoder with the same vocabulary.
class DraftModel final : public Draft {
 public:
  /// The decoder has one row and must outlive this.
  explicit DraftModel(Decoder& decoder) : decoder_(decoder) {}
  [[nodiscard]] std::vector<Token> propose(std::span<const Token> tokens, Dim most) override;

 private:
  /// Reads tokens after those already read, and returns the most probable next one.
  [[nodiscard]] Token read(std::span<const Token> tokens);

  Decoder& decoder_;
  std::vector<Token> read_;  // the tokens in the KV cache
};

}  // namespace attn::generate
