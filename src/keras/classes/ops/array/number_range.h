// The range of the numbers that a dtype holds.
#pragma once

#include <utility>

#include "attn/base/dtype.h"

namespace attn::keras {

/// Returns the least and the greatest finite number of a dtype. Throws Error (bad_input) for 64-bit integers, because
/// no double equals their greatest number.
[[nodiscard]] std::pair<double, double> number_range(DType dtype);

}  // namespace attn::keras
