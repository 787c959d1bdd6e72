// What the walks over the configs of several families share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontends/hugging_face/config_map.h"

namespace attn::keras {

inline constexpr const char* kRopeScaling = "rope_scaling";
inline constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

/// What transformers 5 keeps of RoPE in one object; nothing where the config has none.
[[nodiscard]] std::optional<Ref> rope_parameters(const ConfigMap& map);
/// How positions are scaled; nothing where they are not. While reading.
[[nodiscard]] std::optional<Ref> rope_scaling(const ConfigMap& map);
/// "llama3" of what rope_scaling gave.
[[nodiscard]] std::string rope_type(const Ref& scaling);
/// The wavelength, which KerasHub's class calls `keras`.
void rope_theta(ConfigMap& map, std::string_view keras, double fallback);

/// An activation that KerasHub's class does not have as a key: it is always gelu by tanh, while attn's class takes
/// another under "activation".
void activation_beside_tanh_gelu(ConfigMap& map);

}  // namespace attn::keras
