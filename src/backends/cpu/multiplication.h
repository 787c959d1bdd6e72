// How an executable computes products by weights.
#pragma once

#include <cstdint>

#include "attn/backends/backend.h"

namespace attn::backends::cpu {

/// What multiplies bfloat16: nothing, AVX-512's dot products, AMX's tiles, or plain loops that give the bits of these,
/// for tests.
enum class Tiles : std::uint8_t { none, dots, amx, emulated };

struct Multiplication {
  Tiles tiles = Tiles::none;
  MatmulPrecision precision = MatmulPrecision::highest;
};

}  // namespace attn::backends::cpu
