// Optimizers as configs tell them.
#pragma once

#include <string>

#include "attn/optimizers/settings.h"

namespace attn::keras {

/// An optimizer from its name ("adam", "AdamW"), with Keras's defaults, or from JSON as compile_config has it. Throws
/// Error (bad_input), for what is not known with the nearest name.
[[nodiscard]] optimizers::Settings read_optimizer(const std::string& text);

/// The optimizer that a compile_config (JSON) names. Throws Error (bad_input) where it names none.
[[nodiscard]] optimizers::Settings compiled_optimizer(const std::string& compile_config);

}  // namespace attn::keras
