// The computation of products with weights, as selected for an executable.
#pragma once

#include <cstdint>

#include "attn/backends/backend.h"

namespace attn::backends::cpu {

/// The instructions for bfloat16 products: none, AVX-512's dot products, AMX's tiles, or (for tests) plain loops that
/// give the same bits as AMX.
enum class Tiles : std::uint8_t { none, dots, amx, emulated };

struct Multiplication {
  Tiles tiles = Tiles::none;
  MatmulPrecision precision = MatmulPrecision::highest;
};

}  // namespace attn::backends::cpu
