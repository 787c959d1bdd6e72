// What generation asks of a model: logits for what comes next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"

namespace attn::generate {

using Token = std::int32_t;

/// Tokens that rows go on with: `count` of them a row, row after row, at the positions from `position` on.
struct Advance {
  std::span<const Token> tokens;
  Dim rows = 0, count = 0, position = 0;
  /// Is the context shared? By row and position up to before `position`, the row whose context is gone on with: a
  /// search goes on with rows that it chose. Empty: each row with its own.
  std::span<const std::int32_t> sources;
  /// Are the logits of all `count` positions wanted, and not of the last alone?
  bool every_position = false;
};

/// Views that hold until the next call.
struct Ahead {
  Tensor logits;  ///< (rows, count or 1, V) float32: for the tokens behind each position
  Tensor hidden;  ///< (rows, count, D) float32: what the logits were made of; empty where it was not asked for
};

/// A model that reads its tokens once, in their order. Rows are those of its batch, or as many times more as branches
/// were asked for when it was made: row b·branches stands for sequence b in a call with one row each.
class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual Dim vocabulary_size() const = 0;
  /// The most positions that a sequence can have.
  [[nodiscard]] virtual Dim capacity() const = 0;
  /// Throws what Executable::run does.
  virtual Ahead advance(const Advance& step) = 0;
};

}  // namespace attn::generate
