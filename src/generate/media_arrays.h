// The arrays of images and sounds for the first step of a decoder.
#pragma once

#include <vector>

#include "attn/generate/media.h"

namespace attn::generate {

/// Returns the arrays of all items for prompts of `length` tokens: (prompts, items, …), or (prompts, …) if each prompt
/// begins with an image. Missing items are padding. For items between tokens, there are also the positions of their
/// placeholders: indices (prompts, items·tokens) int32, with 0 for missing ones, and a mask (prompts, length) int32.
[[nodiscard]] std::vector<NamedTensor> arrays_of(const Media& media, Dim prompts, Dim length);

}  // namespace attn::generate
