// Warnings about valid configs with probably unintended effects.
#pragma once

#include <vector>

#include "attn/keras/problem.h"
#include "classes/layer.h"

namespace attn::keras {

/// Collects warnings about the layers of a built model, such as heads that do not fill the width, and numbers beyond
/// float16. `document` has the layers' locations. Throws Collected if the list of problems is full.
void find_model_warnings(Layer& root, const Document& document, std::vector<Problem>& problems);

}  // namespace attn::keras
