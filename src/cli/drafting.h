// --draft: what guesses the next tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attn/generate/cached_decoder.h"
#include "attn/generate/draft.h"
#include "attn/open/execution.h"
#include "attn/tokenizers/tokenizer.h"
#include "options/options.h"

namespace attn::cli {

struct DraftWords {
  std::optional<std::string> draft;
  std::int64_t tokens = 4;  ///< guessed at a time

  void declare(Options& options);
};

/// A draft, and what it needs. It lives as long as the console.
class Drafting {
 public:
  virtual ~Drafting() = default;
  [[nodiscard]] virtual generate::Draft& draft() = 0;
  /// The tokens that it guesses at a time.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// What `words` ask for, for a model of `vocabulary` tokens, which are those of `tokenizer` where there is one, and
  /// for sequences of `capacity` tokens. Throws Error: of usage where a draft model has another vocabulary.
  [[nodiscard]] static std::unique_ptr<Drafting> open(const DraftWords& words, const backends::Backend& backend,
                                                      const open::Execution& execution, std::int64_t vocabulary,
                                                      const tokenizers::Tokenizer* tokenizer, Dim capacity,
                                                      const Console& console);

 protected:
  explicit Drafting(std::int64_t tokens) : tokens_(tokens) {}

 private:
  std::int64_t tokens_;
};

}  // namespace attn::cli
