// The short encoder config, the form people write by hand.
#pragma once

#include "config/json.h"

namespace attn::keras {

/// Does this object look like one (rather than a layer's bare config)?
[[nodiscard]] bool is_encoder_config(const Ref& config);

/// The Keras JSON of the functional model that the same Keras code builds, automatic names included, and which key
/// each of its parts comes from. Throws Error (bad_input) for unknown keys and values that do not fit.
[[nodiscard]] Translation expand_encoder_config(const Ref& config, std::vector<std::string>& warnings);

}  // namespace attn::keras
