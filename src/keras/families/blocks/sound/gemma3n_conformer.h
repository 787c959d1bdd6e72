// The block of Gemma 3n's audio encoder (keras_hub/src/models/gemma3n/gemma3n_audio_encoder.py).
#pragma once

#include "classes/class_info.h"
#include "families/blocks/sound/chunked_attention.h"

namespace attn::keras {

inline constexpr ChunkKeys kGemma3nChunkKeys{"num_attention_heads", "attention_chunk_size",
                                             "num_attention_context_left", "num_attention_context_right"};

[[nodiscard]] LayerPtr make_gemma3n_relative_positions();
[[nodiscard]] LayerPtr make_gemma3n_audio_attention();
[[nodiscard]] LayerPtr make_gemma3n_conformer_attention();
[[nodiscard]] LayerPtr make_gemma3n_conformer_feed_forward();
[[nodiscard]] LayerPtr make_gemma3n_conformer_convolution();
[[nodiscard]] LayerPtr make_gemma3n_conformer();

}  // namespace attn::keras
