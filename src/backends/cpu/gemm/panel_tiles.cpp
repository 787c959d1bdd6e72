#include "panel_tiles.h"

namespace attn::backends::cpu {
namespace {

using Vector = float __attribute__((vector_size(16)));

template <int kRows>
void multiply(const Tile& tile) {
  multiply_tile<Vector, kRows, 2>(tile);
}

constexpr std::array<TileLoop, 4> kByRows{multiply<1>, multiply<2>, multiply<3>, multiply<4>};

}  // namespace

const TileLoops kTiles{8, kByRows};

}  // namespace attn::backends::cpu
