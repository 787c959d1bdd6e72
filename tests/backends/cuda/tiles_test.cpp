// The assignment of tiles of queries to blocks: each tile once, and balanced over processors.
#include "attention/tiles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

namespace attn::cuda {
namespace {

/// The utilization of the processors, if each takes the next tile when it is free and a tile costs its number of key
/// tiles plus one.
double balance(const Tiling& tiling, unsigned rows, unsigned keys, unsigned processors) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> free;
  for (unsigned i = 0; i < processors; ++i) free.push(0);
  std::uint64_t work = 0, last = 0;
  for (unsigned block = 0; block < tiling.blocks(); ++block) {
    const auto tile = static_cast<unsigned>(place_of(tiling, block).tile);
    const std::uint64_t cost = 1 + ((tile + 1) * rows + keys - 1) / keys;
    const std::uint64_t end = free.top() + cost;
    free.pop();
    free.push(end);
    work += cost;
    last = std::max(last, end);
  }
  return static_cast<double>(work) / (static_cast<double>(processors) * static_cast<double>(last));
}

}  // namespace

TEST_CASE("tiles: every tile of every head belongs to one block, for every group") {
  for (const unsigned heads : {1U, 7U, 12U, 64U}) {
    for (unsigned limit = 1; limit <= heads; ++limit) {
      const Tiling tiling{5, heads, heads_of_group(limit, heads)};
      CHECK(tiling.group <= limit);
      std::set<std::pair<int, int>> places;
      for (unsigned block = 0; block < tiling.blocks(); ++block) {
        const TilePlace place = place_of(tiling, block);
        places.emplace(place.tile, place.head);
        CHECK(place.tile < 5);
        CHECK(place.head < static_cast<int>(heads));
      }
      CHECK(places.size() == tiling.blocks());
    }
  }
}

TEST_CASE("tiles: causal tiles on 132 processors end at nearly the same time") {
  struct Row {
    unsigned length, heads, limit, rows, keys;  // limit: heads that half of an L2 cache of 60 MB holds
    double least;
  };
  // With the limit itself as the group, the results are 0.949, 0.979, 0.956, 0.970, 0.715, 0.906 and 0.881.
  const Row rows[] = {{4096, 64, 15, 128, 128, 0.99},  {4096, 128, 30, 192, 128, 0.99}, {16384, 16, 3, 128, 128, 0.99},
                      {1024, 256, 60, 128, 128, 0.98}, {4096, 16, 15, 128, 128, 0.99},  {4096, 32, 7, 128, 64, 0.99},
                      {2048, 71, 60, 192, 128, 0.97}};
  for (const Row& row : rows) {
    const Tiling tiling{(row.length + row.rows - 1) / row.rows, row.heads, heads_of_group(row.limit, row.heads)};
    CAPTURE(row.length);
    CAPTURE(row.heads);
    CAPTURE(tiling.group);
    CHECK(balance(tiling, row.rows, row.keys, 132) >= row.least);
  }
}

}  // namespace attn::cuda
