// The methods of an executable for products with weights.
#pragma once

#include <cstdint>

#include "attn/backends/backend.h"

namespace attn::backends::cpu {

/// The hardware for bfloat16 products: none, AVX-512's dot products, AMX's tiles, or for tests plain loops that give
/// the same bits.
enum class Tiles : std::uint8_t { none, dots, amx, emulated };

struct Multiplication {
  Tiles tiles = Tiles::none;
  MatmulPrecision precision = MatmulPrecision::highest;
};

}  // namespace attn::backends::cpu
