// Optimizers as configs tell them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/optimizers/settings.h"

namespace attn::keras {

/// An optimizer from its name ("adam", "AdamW"), with Keras's defaults, or from JSON as compile_config has it. Throws
/// Error (bad_input), for what is not known with the nearest name.
[[nodiscard]] optimizers::Settings read_optimizer(const std::string& text);

/// The optimizer that a compile_config (JSON) names. Throws Error (bad_input) where it names none.
[[nodiscard]] optimizers::Settings compiled_optimizer(const std::string& compile_config);

/// The class as Keras writes it ("AdamW"), from any spelling of it; nothing where it is not known.
[[nodiscard]] std::optional<std::string> optimizer_class(std::string_view name);

}  // namespace attn::keras
