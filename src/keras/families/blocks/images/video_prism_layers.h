// The layers of VideoPrism (keras_hub/src/models/video_prism). Those that embed videos and texts are in
// video_prism_embeddings.cpp.
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_video_prism_reshape();
[[nodiscard]] LayerPtr make_video_prism_decoding();
[[nodiscard]] LayerPtr make_video_prism_mlp();
[[nodiscard]] LayerPtr make_video_prism_per_dim_scale();
[[nodiscard]] LayerPtr make_video_prism_attention();
[[nodiscard]] LayerPtr make_video_prism_encoder_block();
[[nodiscard]] LayerPtr make_video_prism_encoder();
[[nodiscard]] LayerPtr make_video_prism_positions();
[[nodiscard]] LayerPtr make_video_prism_embedding();
[[nodiscard]] LayerPtr make_video_prism_class_token();
[[nodiscard]] LayerPtr make_video_prism_patches();
[[nodiscard]] LayerPtr make_video_prism_frames();
[[nodiscard]] LayerPtr make_video_prism_pooling();

}  // namespace attn::keras
