// The layers of Qwen 3.5's vision encoder, which its family with mixtures of experts shares
// (keras_hub/src/models/qwen3_5/qwen3_5_vision_encoder.py).
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

/// Makes a layer for (P,frames,H,W,C) → (P,D): a convolution whose window is a patch.
[[nodiscard]] LayerPtr make_qwen3_5_patch_embed();
/// Makes the dense layers of a block.
[[nodiscard]] LayerPtr make_qwen3_5_vision_mlp();
/// Makes an attention of patches with rotary positions.
[[nodiscard]] LayerPtr make_qwen3_5_vision_attention();
/// Makes a block of patches (P,D).
[[nodiscard]] LayerPtr make_qwen3_5_vision_block();
/// Makes a layer for (P,D) → (P/merge²,out): each square of patches becomes the row of one token.
[[nodiscard]] LayerPtr make_qwen3_5_patch_merger();
/// Makes the layer that replaces tokens of a text by the rows of images.
[[nodiscard]] LayerPtr make_qwen3_5_interleave();

}  // namespace attn::keras
