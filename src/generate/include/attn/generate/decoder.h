// The interface of a model for text generation: logits of the next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/tokenizers/ids.h"

namespace attn::generate {

using Token = std::int32_t;
using tokenizers::expect_ids;

/// New tokens of each row: `count` tokens for each, row after row. They have the positions from `position` on.
struct Advance {
  std::span<const Token> tokens;
  Dim rows = 0, count = 0, position = 0;
  /// For rows with shared context: the row that computed each earlier position, by row and position. A search continues
  /// with rows that it selected. Empty: each row has its own context.
  std::span<const std::int32_t> sources;
  /// Whether logits of all `count` positions are needed, not only those of the last.
  bool every_position = false;
};

/// The results of Decoder::advance: views that are valid until its next call.
struct DecoderOutput {
  Tensor logits;  ///< (rows, count or 1, V) float32: predictions for the token after each position
  Tensor hidden;  ///< (rows, count, D) float32: the hidden states before the logits; empty if not requested
};

/// Returns one row of logits. Throws Error (bad_input) with the position of the token that they are for if they give no
/// distribution: one is NaN or +∞, or all are −∞.
[[nodiscard]] std::span<const float> logits_of(const DecoderOutput& ahead, Dim row, Dim position);

/// A model that reads each token once, in order. It has `branches` rows for each sequence, a number that is fixed when
/// it is created: a search follows several continuations. In a call with one row for each sequence, row b·branches
/// stands for sequence b.
class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual Dim vocabulary_size() const = 0;
  /// Returns the maximum number of positions of a sequence.
  [[nodiscard]] virtual Dim capacity() const = 0;
  /// Reads the new tokens, and returns logits for those that follow. Throws the errors of Executable::run.
  virtual DecoderOutput advance(const Advance& step) = 0;
};

}  // namespace attn::generate
