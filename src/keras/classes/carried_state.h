// A state that a layer carries from token to token in a decode step, instead of a row for each token: the state of a
// recurrence, or the last tokens that a causal window reads.
//
// Letters: B rows of tokens, T new tokens of each row, C cache entries.
#pragma once

#include <string_view>
#include <vector>

#include "attn/graph/graph.h"
#include "classes/call.h"

namespace attn::keras {

/// The lowering must have a Decoding.
class CarriedState {
 public:
  /// Adds a state of the current layer. `shape` (G,…) is that of one row, and its G parts are copied in parallel.
  CarriedState(Call& call, std::string_view what, Dim rows, Shape shape, DType dtype);

  /// Returns the state (B,shape…) before the first new token. It is 0 at position 0. If rows share context, it is the
  /// state of the row that computed the last earlier position.
  [[nodiscard]] graph::ValueId before() const { return before_; }
  /// Returns the counts of new tokens after which the state is kept: T, and smaller ones if later steps may go back.
  [[nodiscard]] std::vector<Dim> kept_counts() const;
  /// Keeps the states (B,shape…) after these counts of tokens. They must be computed from before().
  void keep(const std::vector<graph::ValueId>& after);

 private:
  Call& call_;
  Shape shape_;
  graph::ValueId state_ = graph::kNone;  // (C,G,kept,…): the state after position p is in row p mod `kept`
  graph::ValueId before_ = graph::kNone;
};

}  // namespace attn::keras
