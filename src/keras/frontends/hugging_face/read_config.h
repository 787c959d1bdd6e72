// Converts the config.json of a Hugging Face folder to a KerasHub config.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/options.h"
#include "config/json.h"

namespace attn::keras {

/// Returns whether this object looks like a Hugging Face config.
[[nodiscard]] bool is_hugging_face(const Ref& root);

/// Returns the KerasHub task for its architecture, without a preprocessor, or the backbone if KerasHub does not have
/// the head. Throws Error (bad_input) for unknown families, and for settings that KerasHub's class does not implement;
/// with `as_keras_hub` these are ignored, as in KerasHub. With `embedder`, which can be null, the result is a
/// TextEmbedder.
[[nodiscard]] Translation translate_hugging_face(const Ref& root, bool as_keras_hub, const EmbedderSettings* embedder,
                                                 std::vector<std::string>& warnings);

}  // namespace attn::keras
