// Models that go on with tokens.
#pragma once

#include "classes/arg.h"
#include "classes/lowering.h"

namespace attn::keras {

/// What new tokens became.
struct Decoded {
  graph::ValueId logits = graph::kNone;  ///< (B,T,V), or (B,1,V) of the last position
  graph::ValueId hidden = graph::kNone;  ///< (B,T,D): what the logits are made of
};

/// A model whose logits at a position tell of the token behind it.
class Decodes {
 public:
  virtual ~Decodes() = default;
  /// Does it also read a sequence by an encoder (EncoderSequences)?
  [[nodiscard]] virtual bool has_encoder() const { return false; }
  /// Lowers new tokens (B,T) int32, in a lowering that has a Decoding.
  [[nodiscard]] virtual Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) = 0;
};

}  // namespace attn::keras
