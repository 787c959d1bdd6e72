// Attention with linear biases (Press et al., "Train Short, Test Long", 2022).
//
// Letters: see head_attention.h.
#pragma once

#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// The slope of each head. For a power of two it is a geometric sequence; otherwise that of the next lower power, then
/// every other slope of the next higher. Throws Error (bad_input) for more than 2^20 heads.
[[nodiscard]] std::vector<double> alibi_slopes(Dim heads, double bias_max = 8.0);

}  // namespace attn::keras
