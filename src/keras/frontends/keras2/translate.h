// Translates configs of Keras 2 (standalone, tf.keras and tf_keras) to Keras 3.
//
// Different spellings are converted. Differences in computation are either expressed in Keras 3 or rejected with their
// name. Masks are the exception: layers follow Keras 2's mask rules if their document was written by Keras 2
// (Layer::follows_keras2).
#pragma once

#include <optional>

#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

/// Returns whether Keras 2 wrote this config. `version` is the version in the file, if any; otherwise the config's own
/// "keras_version" decides, or its form.
[[nodiscard]] bool is_keras2(const Ref& root, std::optional<Version> version);

/// Throws Error (bad_input) with the location of a feature that Keras 3 does not have.
[[nodiscard]] Translation translate_keras2(const Ref& root);

}  // namespace attn::keras
