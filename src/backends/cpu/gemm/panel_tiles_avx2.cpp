#include "panel_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)

namespace attn::backends::cpu {
namespace {

using Vector = float __attribute__((vector_size(32)));

template <int kRows>
[[gnu::target("arch=x86-64-v3")]] void multiply(const Tile& tile) {
  multiply_tile<Vector, kRows, 2>(tile);
}

constexpr std::array<TileLoop, 6> kByRows{multiply<1>, multiply<2>, multiply<3>,
                                          multiply<4>, multiply<5>, multiply<6>};  // 12 of 16 registers

}  // namespace

const TileLoops kTilesOfAvx2{16, kByRows};

}  // namespace attn::backends::cpu

#endif
