// Attention with linear biases (Press et al., "Train Short, Test Long", 2022).
//
// Letters: see head_attention.h.
#pragma once

#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// Returns the slope of each head. For a power of two heads, the slopes are a geometric sequence. Otherwise they are
/// the sequence of the next lower power, followed by every other slope of the next higher power. Throws Error
/// (bad_input) for more than 2^20 heads.
[[nodiscard]] std::vector<double> alibi_slopes(Dim heads, double bias_max = 8.0);

}  // namespace attn::keras
