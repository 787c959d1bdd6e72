// Models with decode steps.
#pragma once

#include <optional>

#include "classes/arg.h"
#include "classes/lowering.h"

namespace attn::keras {

/// The result of a decode step.
struct Decoded {
  graph::ValueId logits = graph::kNone;  ///< logits (B,T,V), or (B,1,V) of the last position
  graph::ValueId hidden = graph::kNone;  ///< hidden states (B,T,D) before the logits
};

/// Returns the last position (B,1,D) of x (B,T,D).
[[nodiscard]] graph::ValueId last_position(graph::Builder& b, graph::ValueId x);
/// Returns cap·tanh(x/cap).
[[nodiscard]] graph::ValueId soft_capped(graph::Builder& b, graph::ValueId x, double cap);

/// The features (B,T,width) that an encoder reads instead of tokens.
struct EncoderFeatures {
  Dim width = 0;
  Dim encoded = 0;  ///< the length of the encoder's result
};

/// A model whose logits at a position predict the next token.
class Autoregressive {
 public:
  virtual ~Autoregressive() = default;
  /// Returns whether an encoder also reads a sequence (EncoderSequences).
  [[nodiscard]] virtual bool has_encoder() const { return false; }
  /// Lowers new tokens (B,T) int32; the lowering must have a Decoding.
  [[nodiscard]] virtual Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) = 0;
  /// Returns whether the encoder reads features.
  [[nodiscard]] virtual bool reads_features() const { return false; }
  /// Returns the features that the encoder reads for a length T; empty if it reads tokens. Throws Error (bad_input) for
  /// a length that the encoder does not support.
  [[nodiscard]] virtual std::optional<EncoderFeatures> features(Dim /*length*/) const { return std::nullopt; }
};

}  // namespace attn::keras
