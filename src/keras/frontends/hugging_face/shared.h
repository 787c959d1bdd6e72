// Common parts of the conversions of several families.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontends/hugging_face/config_map.h"

namespace attn::keras {

inline constexpr const char* kRopeScaling = "rope_scaling";
inline constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

/// The object in which transformers 5 stores the RoPE parameters; empty if the config has none.
[[nodiscard]] std::optional<Ref> rope_parameters(const ConfigMap& map);
/// The scaling of positions; empty if they are not scaled. For reading.
[[nodiscard]] std::optional<Ref> rope_scaling(const ConfigMap& map);
/// The type in the result of rope_scaling, such as "llama3".
[[nodiscard]] std::string rope_type(const Ref& scaling);
/// The wavelength, whose name in KerasHub's class is `keras`.
void rope_theta(ConfigMap& map, std::string_view keras, double fallback);

/// An activation without a key in KerasHub's class, which always uses tanh-approximated gelu; attn's class accepts
/// another one as "activation".
void activation_beside_tanh_gelu(ConfigMap& map);

}  // namespace attn::keras
