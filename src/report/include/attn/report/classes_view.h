// The classes of Keras that attn knows, as text.
#pragma once

#include <span>
#include <string>

#include "attn/keras/known_classes.h"

namespace attn::report {

/// Names by the Keras that brought them, then those that are refused by the reason.
[[nodiscard]] std::string classes_text(std::span<const keras::KnownClass> classes);
/// "attn.classes/1"
[[nodiscard]] std::string classes_json(std::span<const keras::KnownClass> classes);

}  // namespace attn::report
