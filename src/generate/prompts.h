// The prompts of a batch, which are read side by side, and where their sequences end.
#pragma once

#include <vector>

#include "attn/generate/request.h"

namespace attn::generate {

class Prompts {
 public:
  explicit Prompts(const Request& request);

  [[nodiscard]] std::size_t count() const { return request_.prompts.size(); }
  /// The first position that not every sequence has from its prompt, and the one behind the last that may be filled.
  [[nodiscard]] Dim first() const { return first_; }
  [[nodiscard]] Dim end() const { return end_; }
  /// Tokens of the prompt that fit; one behind the last position that the sequence may have.
  [[nodiscard]] Dim length(std::size_t sequence) const;
  [[nodiscard]] Dim end_of(std::size_t sequence) const;
  /// The token that the prompt has at a position, or else `token`.
  [[nodiscard]] Token forced(std::size_t sequence, Dim position, Token token) const;
  /// Its tokens before `first`.
  [[nodiscard]] std::vector<Token> begin_of(std::size_t sequence) const;
  /// Those of all, one behind the other.
  [[nodiscard]] std::vector<Token> begins() const;
  [[nodiscard]] bool is_stop(Token token) const;
  /// The tokens of a sequence up to its first stop token behind the prompt, or its end; and why it ends.
  [[nodiscard]] Sequence cut(std::size_t sequence, const std::vector<Token>& tokens) const;
  /// Is there padding in every prompt that counts as a stop token (Request::pad_token_id)?
  [[nodiscard]] bool padding_stops() const;

 private:
  const Request& request_;
  Dim first_ = 0, end_ = 0;
};

}  // namespace attn::generate
