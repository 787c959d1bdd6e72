// The layers of BLIP-2's Q-Former and of its OPT (keras_hub/src/models/blip2).
#pragma once

#include <cstdint>

#include "classes/class_info.h"

namespace attn::keras {

/// OPT numbers positions from 2 on.
inline constexpr std::int64_t kOptPositionOffset = 2;

[[nodiscard]] LayerPtr make_qformer_attention();
[[nodiscard]] LayerPtr make_qformer_layer();
[[nodiscard]] LayerPtr make_query_tokens();
[[nodiscard]] LayerPtr make_opt_embeddings();

}  // namespace attn::keras
