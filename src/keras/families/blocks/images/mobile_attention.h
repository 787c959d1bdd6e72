// The attention of MobileNetV5 over the cells of an image (keras_hub/src/models/mobilenetv5).
#pragma once

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_multi_query_attention_2d();
[[nodiscard]] LayerPtr make_mobile_attention();

}  // namespace attn::keras
