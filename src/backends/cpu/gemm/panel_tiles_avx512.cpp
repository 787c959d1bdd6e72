#include "panel_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)

namespace attn::backends::cpu {
namespace {

using Vector = float __attribute__((vector_size(64)));

template <int kRows, int kVectors>
[[gnu::target("arch=x86-64-v4")]] void multiply(const Tile& tile) {
  multiply_tile<Vector, kRows, kVectors>(tile);
}

/// Accumulators use up to 24 of the 32 registers.
template <int kVectors>
constexpr std::array<TileLoop, 12> kByRows{multiply<1, kVectors>,  multiply<2, kVectors>,  multiply<3, kVectors>,
                                           multiply<4, kVectors>,  multiply<5, kVectors>,  multiply<6, kVectors>,
                                           multiply<7, kVectors>,  multiply<8, kVectors>,  multiply<9, kVectors>,
                                           multiply<10, kVectors>, multiply<11, kVectors>, multiply<12, kVectors>};

}  // namespace

const TileLoops kTilesOfAvx512{kPanel, kByRows<2>};
const TileLoops kHalfTilesOfAvx512{kPanel / 2, kByRows<1>};

}  // namespace attn::backends::cpu

#endif
