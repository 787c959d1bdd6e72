// Reads optimizers from configs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/optimizers/settings.h"

namespace attn::keras {

/// Reads an optimizer from its name ("adam", "AdamW"), with Keras's defaults, or from JSON as in compile_config. Throws
/// Error (bad_input); the message for an unknown optimizer contains the most similar name.
[[nodiscard]] optimizers::Settings read_optimizer(const std::string& text);

/// Reads the optimizer in a compile_config (JSON). Throws Error (bad_input) if there is none.
[[nodiscard]] optimizers::Settings compiled_optimizer(const std::string& compile_config);

/// Returns the class name in Keras ("AdamW"), given any spelling; empty if the name is unknown.
[[nodiscard]] std::optional<std::string> optimizer_class(std::string_view name);

}  // namespace attn::keras
