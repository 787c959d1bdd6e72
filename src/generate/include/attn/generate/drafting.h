// Drafts of the next tokens, from the prompt or by a small model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attn/generate/cached_decoder.h"
#include "attn/generate/draft.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

struct DraftOptions {
  std::optional<std::string> draft;  ///< "prompt-lookup", "prompt-lookup:N", or the path of a small model
  std::int64_t tokens = 4;           ///< number of tokens that the draft guesses at a time, without an N

  /// Returns how many recurrent states a decoder of `capacity` positions keeps, so that wrong guesses can be taken
  /// back. Throws Error (usage) if N is no number.
  [[nodiscard]] Dim kept(Dim capacity) const;
};

/// A draft with the objects that it uses. The listener must outlive it.
class Drafting {
 public:
  virtual ~Drafting() = default;
  [[nodiscard]] virtual Draft& draft() = 0;
  /// Returns the number of tokens that the draft guesses at a time.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Opens the draft of `words` for a model of `vocabulary` tokens, with the names of `tokenizer` if there is one, and
  /// for sequences of `capacity` tokens. Throws Error: of usage if a draft model has another vocabulary.
  [[nodiscard]] static std::unique_ptr<Drafting> open(const DraftOptions& words, const backends::Backend& backend,
                                                      const open::Execution& execution, std::int64_t vocabulary,
                                                      const tokenizers::Tokenizer* tokenizer, Dim capacity,
                                                      const open::Listener& listener);

 protected:
  explicit Drafting(std::int64_t tokens) : tokens_(tokens) {}

 private:
  std::int64_t tokens_;
};

}  // namespace attn::generate
