// Activations as arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// Returns an array for each point of a list with commas, with the prompts as rows, and the token ids as `ids`. If
/// lengths differ, shorter rows end in zeros, and an array `lengths` is added. Half-precision values become float32.
/// Throws Error (differs) for a value that is not finite, naming the first point with one.
[[nodiscard]] std::vector<NamedTensor> captured(const Subject& subject, std::span<const Prompt> prompts,
                                                const std::string& points);

}  // namespace attn::probe
