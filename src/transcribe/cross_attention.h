// The attention of a decoder's tokens to the positions of a sound.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/run/session.h"
#include "attn/run/weight_supply.h"
#include "kinds.h"
#include "whisper_tokens.h"

namespace attn::transcribe {

class CrossAttention {
 public:
  /// Without heads, they are those of the later half of the decoder's layers, as in OpenAI's implementation. Throws
  /// Error (bad_input) for a head that the model does not have.
  CrossAttention(const TranscriberParts& parts, const std::vector<AlignmentHead>& heads);

  /// Returns the probabilities (heads, tokens, positions) float32 for the tokens from `first` on, at the first
  /// `positions` of the encoder's. `tokens` include the prompt.
  [[nodiscard]] Tensor probabilities(const Tensor& features, std::span<const Id> tokens, Dim first, Dim positions);

 private:
  [[nodiscard]] graph::Graph lowered(const Shape& features, Dim tokens) const;
  [[nodiscard]] run::Session& session_for(const Shape& features, Dim tokens);

  TranscriberParts parts_;
  backends::CompileOptions compile_;
  run::WeightSupply weights_;
  std::map<std::int64_t, std::vector<std::int64_t>> heads_;  // heads of each layer
  std::map<Dim, run::Session> sessions_;                     // one for each number of tokens
  Shape heard_;
};

}  // namespace attn::transcribe
