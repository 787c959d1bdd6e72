// Warnings about valid configs with probably unintended effects.
#pragma once

#include <vector>

#include "attn/keras/problem.h"
#include "classes/layer.h"

namespace attn::keras {

/// Collects warnings about the layers of a built model: heads that do not fill the width, numbers beyond float16.
/// `document` is the document of the layers' locations. Throws Collected if there are too many.
void find_surprises(Layer& root, const Document& document, std::vector<Problem>& problems);

}  // namespace attn::keras
