// How an executable computes products by weights.
#pragma once

#include <cstdint>

#include "attn/backends/backend.h"

namespace attn::backends::onednn {

/// What computes tiles of bfloat16: nothing, the CPU (AMX), or plain loops that give the same bits, for tests.
enum class Tiles : std::uint8_t { none, amx, emulated };

struct Multiplication {
  Tiles tiles = Tiles::none;
  MatmulPrecision precision = MatmulPrecision::highest;
};

}  // namespace attn::backends::onednn
