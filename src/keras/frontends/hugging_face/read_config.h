// config.json of a Hugging Face folder as a config of KerasHub.
#pragma once

#include <string>
#include <vector>

#include "config/json.h"

namespace attn::keras {

/// Does this object look like one?
[[nodiscard]] bool is_hugging_face(const Ref& root);

/// The task of KerasHub that its architecture stands for, without a preprocessor, or the backbone where it has no head
/// that KerasHub knows. Throws Error (bad_input) for families that are not known, and for what KerasHub's class does
/// not compute; `as_keras_hub` reads over that, as KerasHub does.
[[nodiscard]] Translation translate_hugging_face(const Ref& root, bool as_keras_hub,
                                                 std::vector<std::string>& warnings);

}  // namespace attn::keras
