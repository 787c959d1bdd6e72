// Configs of Keras 2 (standalone, tf.keras and tf_keras) as configs of Keras 3.
//
// What Keras 3 spells otherwise is spelt anew; what it computes otherwise is either said in its words or refused by
// name. Masks are the exception: Keras 2 combines and keeps them by rules of its own, which layers follow where their
// document says that Keras 2 wrote it (Layer::follows_keras2).
#pragma once

#include <optional>

#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

/// Did Keras 2 write this config? `version` is what the file says beside it, or nothing: then the config's own
/// "keras_version" tells, and else its form.
[[nodiscard]] bool is_keras2(const Ref& root, std::optional<Version> version);

/// Throws Error (bad_input) with the place of what Keras 3 does not have.
[[nodiscard]] Translation translate_keras2(const Ref& root);

}  // namespace attn::keras
