// The prompts of a batch, which are read together, and the ends of their sequences.
#pragma once

#include <vector>

#include "attn/generate/request.h"

namespace attn::generate {

class Prompts {
 public:
  explicit Prompts(const Request& request);

  [[nodiscard]] std::size_t count() const { return request_.prompts.size(); }
  /// `first` is the first position that is not in every prompt; `end` follows the last position that may be filled.
  [[nodiscard]] Dim first() const { return first_; }
  [[nodiscard]] Dim end() const { return end_; }
  /// `length` returns the number of tokens of the prompt that fit; `end_of` returns the position after the last that
  /// the sequence may have.
  [[nodiscard]] Dim length(std::size_t sequence) const;
  [[nodiscard]] Dim end_of(std::size_t sequence) const;
  /// Returns the prompt's token at a position, or `token` after the prompt.
  [[nodiscard]] Token forced(std::size_t sequence, Dim position, Token token) const;
  /// Returns the prompt's tokens before `first`.
  [[nodiscard]] std::vector<Token> begin_of(std::size_t sequence) const;
  /// Returns the beginnings of all prompts, concatenated.
  [[nodiscard]] std::vector<Token> begins() const;
  [[nodiscard]] bool is_stop(Token token) const;
  /// Returns the tokens of a sequence up to its first stop token after the prompt, or up to its end, and the reason of
  /// the end.
  [[nodiscard]] Sequence cut(std::size_t sequence, const std::vector<Token>& tokens) const;
  /// Returns whether every prompt has padding that counts as a stop token (Request::pad_token_id).
  [[nodiscard]] bool padding_stops() const;

 private:
  const Request& request_;
  Dim first_ = 0, end_ = 0;
};

}  // namespace attn::generate
