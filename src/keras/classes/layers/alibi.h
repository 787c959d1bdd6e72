// Attention with linear biases (Press et al., "Train Short, Test Long", 2022).
//
// Letters as in head_attention.h.
#pragma once

#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// The slope of each head: a geometric sequence for a power of two; else that of the next lower one, and every other
/// slope of the next. Throws Error (bad_input) for more than 2^20 heads.
[[nodiscard]] std::vector<double> alibi_slopes(Dim heads, double bias_max = 8.0);

}  // namespace attn::keras
