// Common parts of the conversions of several families.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "families/blocks/config_map.h"

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

/// Linear position scaling: positions are divided by a factor.
void linear_scaling(ConfigMap& map);

/// The common keys of decoders with grouped attention.
void decoder_sizes(ConfigMap& map);
/// Whether the size of heads is not hidden_size / num_attention_heads. For reading.
[[nodiscard]] bool has_own_heads(const ConfigMap& map);
/// For a class without head_dim: features are divided evenly among the heads.
void even_heads(ConfigMap& map);
/// Windows of the layers from max_window_layers on, for a class that supports them for all layers or for none.
[[nodiscard]] bool slides(ConfigMap& map);

/// Feed-forward layers are four times as wide as the model; transformers' config has no key for the width. Narrower
/// ones are padded with zeros (weights::NameTable::padded).
void four_times_as_wide(ConfigMap& map, const char* width);

/// An activation without a key in KerasHub's class, which always uses tanh-approximated gelu; attn's class accepts
/// another one as "activation".
void activation_beside_tanh_gelu(ConfigMap& map);

}  // namespace attn::keras
