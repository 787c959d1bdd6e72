// Converts a KerasHub model to the config.json of a Hugging Face folder.
#pragma once

#include <string>

#include "model/functional.h"

namespace attn::keras {

/// Returns the text of config.json for a backbone, or for a task with the head of a transformers architecture; `dtype`
/// is the dtype of its stored weights. Throws Error (bad_input) for a model that transformers has no class for.
[[nodiscard]] std::string hugging_face_config(Functional& model, const std::string& dtype);

}  // namespace attn::keras
