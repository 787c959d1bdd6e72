// What a config may say without being wrong, and that its writer may not expect.
#pragma once

#include <vector>

#include "attn/keras/problem.h"
#include "classes/layer.h"

namespace attn::keras {

/// Collects warnings about the layers of a model that is built: heads that do not fill the width, numbers beyond
/// float16. `document` is what the layers' places are in. Throws Collected where there are too many.
void find_surprises(Layer& root, const Document& document, std::vector<Problem>& problems);

}  // namespace attn::keras
