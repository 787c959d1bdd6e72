// Convolutional blocks of MobileNetV5, and the fusion of their results (keras_hub/src/models/mobilenetv5).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "classes/class_info.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_edge_residual();
[[nodiscard]] LayerPtr make_universal_inverted_residual();
[[nodiscard]] LayerPtr make_multi_scale_fusion_adapter();

/// Returns the classes with automatic names that the constructor of MobileNetV5MultiScaleFusionAdapter makes, and those
/// that its build() makes later.
[[nodiscard]] std::vector<std::string_view> fusion_parts(std::string_view norm_layer);
[[nodiscard]] std::vector<std::string_view> later_fusion_parts(std::string_view norm_layer);

}  // namespace attn::keras
