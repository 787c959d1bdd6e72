// What a config may say without being wrong, and that its writer may not expect.
#pragma once

#include <vector>

#include "attn/keras/problem.h"
#include "layer.h"

namespace attn::keras {

/// Warnings about the layers of a model that is built: heads that do not fill the width, numbers beyond float16.
/// `document` is what the layers' places are in; null: in nothing that a user wrote.
[[nodiscard]] std::vector<Problem> surprises(Layer& root, const Document& document);

}  // namespace attn::keras
