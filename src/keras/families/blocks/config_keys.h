// Common parts of the conversions of several families.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "families/blocks/config_map.h"

namespace attn::keras {

inline constexpr const char* kRopeScaling = "rope_scaling";
inline constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

/// Returns the object in which transformers 5 stores the RoPE parameters; empty if the config has none.
[[nodiscard]] std::optional<Ref> rope_parameters(const ConfigMap& map);
/// Returns the value that describes the scaling of positions; empty if positions are not scaled. For reading.
[[nodiscard]] std::optional<Ref> rope_scaling(const ConfigMap& map);
/// Returns the type in the result of rope_scaling, such as "llama3".
[[nodiscard]] std::string rope_type(const Ref& scaling);
/// Converts the base of the rotary wavelengths, rope_theta; `keras` is the key in KerasHub's class.
void rope_theta(ConfigMap& map, std::string_view keras, double fallback);

/// Converts linear position scaling, which divides positions by a factor.
void linear_scaling(ConfigMap& map);

/// Converts the common keys of decoders with grouped attention.
void decoder_sizes(ConfigMap& map);
/// Returns whether the head size differs from hidden_size / num_attention_heads. For reading.
[[nodiscard]] bool has_own_heads(const ConfigMap& map);
/// For a class without head_dim, which divides features evenly among heads: rejects any other head size.
void even_heads(ConfigMap& map);
/// Returns whether layers use sliding windows. In Hugging Face's config the layers from max_window_layers on have one;
/// KerasHub's class supports all layers or none, so other configs are rejected.
[[nodiscard]] bool slides(ConfigMap& map);
/// Converts the size of the windows, which recent configs of transformers set to 0 if no layer has one.
void window_size(ConfigMap& map);

/// Converts the width of feed-forward layers, which in transformers is always four times the model's width `width` and
/// has no key. Narrower layers are written padded with zeros (weights::NameTable::padded).
void four_times_as_wide(ConfigMap& map, const char* width);

/// Converts an activation without a key in KerasHub's class, which always uses the tanh-approximated gelu; attn's class
/// accepts another one as "activation". `fallback` is the default of transformers. `is_stated`: the result has the tanh
/// approximation too, because KerasHub's head has the exact gelu.
void activation_beside_tanh_gelu(ConfigMap& map, const char* fallback = "gelu", bool is_stated = false);

}  // namespace attn::keras
