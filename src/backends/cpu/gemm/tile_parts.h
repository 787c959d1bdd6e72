// Vectorized decomposition of numbers into bfloat16.
#pragma once

#include "amx_tiles.h"
#include "vector.h"

namespace attn::backends::cpu {

/// Stores the bfloat16 nearest to each of 32 numbers (ties away from 0), and replaces the numbers by the remainders.
/// Not valid for NaN, and for numbers whose nearest bfloat16 is infinite.
[[gnu::always_inline]] inline void take_nearest(Lanes& a, Lanes& b, Bfloat16* to) {
  const Integers upper = Integers{} + static_cast<int>(0xFFFF0000);
  const Integers first = reinterpret_cast<Integers>(a) + 0x8000, second = reinterpret_cast<Integers>(b) + 0x8000;
  store_upper(first, second, to);
  a -= reinterpret_cast<Lanes>(first & upper);
  b -= reinterpret_cast<Lanes>(second & upper);
}

}  // namespace attn::backends::cpu
