// The short encoder config, for writing by hand.
#pragma once

#include "config/json.h"

namespace attn::keras {

/// Returns whether this object looks like a short encoder config (rather than a layer's bare config).
[[nodiscard]] bool is_encoder_config(const Ref& config);

/// Returns the Keras JSON of the functional model that the equivalent Keras code builds, with automatic names. Also
/// returns for each part the key that it comes from. Throws Error (bad_input) for unknown keys and inconsistent values.
[[nodiscard]] Translation expand_encoder_config(const Ref& config, std::vector<std::string>& warnings);

}  // namespace attn::keras
