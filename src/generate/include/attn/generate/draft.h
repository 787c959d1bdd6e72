// Guesses of what comes next, which a decoder checks several at a time (Leviathan et al., Fast Inference from
// Transformers via Speculative Decoding, 2023).
#pragma once

#include <span>
#include <vector>

#include "attn/generate/decoder.h"

namespace attn::generate {

class Draft {
 public:
  virtual ~Draft() = default;
  /// At most `most` tokens that may follow `tokens`, a sequence from its beginning on; none where there is no guess.
  /// Throws what Decoder::advance does.
  [[nodiscard]] virtual std::vector<Token> propose(std::span<const Token> tokens, Dim most) = 0;
};

/// What followed the last tokens where the sequence had them before: of the longest such run of up to `kLongest`
/// tokens, the latest place.
class PromptLookup final : public Draft {
 public:
  static constexpr std::size_t kLongest = 3;
  [[nodiscard]] std::vector<Token> propose(std::span<const Token> tokens, Dim most) override;
};

/// What a smaller decoder of the same vocabulary takes for the likeliest.
class DraftModel final : public Draft {
 public:
  /// The decoder, which outlives this, has one row.
  explicit DraftModel(Decoder& decoder) : decoder_(decoder) {}
  [[nodiscard]] std::vector<Token> propose(std::span<const Token> tokens, Dim most) override;

 private:
  /// Reads tokens behind those that it has read, and gives the likeliest next.
  [[nodiscard]] Token read(std::span<const Token> tokens);

  Decoder& decoder_;
  std::vector<Token> read_;  // what the caches hold
};

}  // namespace attn::generate
