// The Keras classes that attn knows.
#pragma once

#include <string_view>
#include <vector>

#include "attn/keras/version.h"

namespace attn::keras {

struct KnownClass {
  std::string_view name;     ///< the class's name in configs
  std::string_view shown;    ///< the class's name in Python, if different
  std::string_view module;   ///< the module in configs
  std::string_view package;  ///< "keras_hub", or "" for Keras's own
  Version since = kOldest;   ///< the first Keras 3 version that has it, for Keras's own classes
  std::string_view refused;  ///< the reason why it is rejected, or ""
};

/// Returns all layers including models, or all operations. Rejected classes come last. Both parts are in alphabetical
/// order.
[[nodiscard]] std::vector<KnownClass> known_layers();
[[nodiscard]] std::vector<KnownClass> known_operations();

/// A model family of KerasHub, and what attn has of it.
struct KnownFamily {
  std::string_view name;                           ///< "bert"
  std::vector<std::string_view> backbones, tasks;  ///< the names of the classes of its models
  std::vector<std::string_view> tokenizers;        ///< the names of the classes of its tokenizers
  std::vector<std::string_view> model_types;       ///< the model types of the Hugging Face folders that attn reads
};

/// Returns all families, in alphabetical order.
[[nodiscard]] std::vector<KnownFamily> known_families();

}  // namespace attn::keras
