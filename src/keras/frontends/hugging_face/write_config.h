// A model of KerasHub as config.json of a Hugging Face folder.
#pragma once

#include <string>

#include "model/functional.h"

namespace attn::keras {

/// The text of config.json for a backbone, or for a task with the head of one of transformers' architectures; `dtype`
/// is what its weights are stored in. Throws Error (bad_input) for what transformers has no class for.
[[nodiscard]] std::string hugging_face_config(Functional& model, const std::string& dtype);

}  // namespace attn::keras
