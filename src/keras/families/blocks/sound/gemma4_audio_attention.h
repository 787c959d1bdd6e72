// The attention of Gemma 4's audio encoder (keras_hub/src/models/gemma4/gemma4_audio_encoder.py).
#pragma once

#include <cstdint>

#include "classes/class_info.h"
#include "config/fields.h"

namespace attn::keras {

/// The fields of an attention in which each chunk of positions sees itself and positions around it. The encoder passes
/// them to its blocks, and each block to its attention.
struct ChunkedAttention {
  /// Reads or writes the fields, the first four as required ones.
  void chunk_fields(Fields& f);
  /// Returns the fields as arguments of a constructor.
  [[nodiscard]] Json chunk_arguments() const;

  Positive num_heads = 8, chunk_size = 12;
  std::int64_t context_left = 13, context_right = 0;
  Number logit_cap{50.0}, invalid_logit_value{-1e9};
};

[[nodiscard]] LayerPtr make_gemma4_relative_positions();
[[nodiscard]] LayerPtr make_gemma4_audio_attention();

}  // namespace attn::keras
