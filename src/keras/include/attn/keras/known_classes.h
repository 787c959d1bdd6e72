// The classes of Keras that attn knows.
#pragma once

#include <string_view>
#include <vector>

#include "attn/keras/version.h"

namespace attn::keras {

struct KnownClass {
  std::string_view name;     ///< as configs spell it
  std::string_view shown;    ///< what Python calls it, where that is another name
  std::string_view module;   ///< as configs name it
  std::string_view package;  ///< "keras_hub", or "" for Keras's own
  Version since = kOldest;   ///< the first Keras 3 that has it, where it is Keras's own
  std::string_view refused;  ///< why attn does not run it, or ""
};

/// All layers, with models, or all operations; those that are refused last. Each in the order of the alphabet.
[[nodiscard]] std::vector<KnownClass> known_layers();
[[nodiscard]] std::vector<KnownClass> known_operations();

}  // namespace attn::keras
