#include "attn/parallel/split.h"

#include <algorithm>
#include <numeric>

namespace attn::parallel {

Dim Split::from(int rank) const { return std::accumulate(sizes.begin(), sizes.begin() + rank, Dim{0}); }

std::vector<Dim> shares(Dim count, int ranks) {
  std::vector<Dim> sizes;
  for (Dim rank = 0; rank < ranks; ++rank) sizes.push_back((rank + 1) * count / ranks - rank * count / ranks);
  return sizes;
}

std::vector<Dim> shares_of_axis(Dim size, Dim groups, int ranks) {
  constexpr Dim kBlock = 64;
  const bool in_blocks = groups == size && size % kBlock == 0 && size / kBlock >= ranks;
  if (in_blocks) groups = size / kBlock;
  std::vector<Dim> sizes = shares(groups, ranks);
  for (Dim& each : sizes) each *= groups == 0 ? 0 : size / groups;
  return sizes;
}

double evenness(const std::vector<Dim>& sizes) {
  const Dim largest = *std::ranges::max_element(sizes);
  const Dim whole = std::accumulate(sizes.begin(), sizes.end(), Dim{0});
  return largest == 0 ? 1.0
                      : static_cast<double>(whole) / static_cast<double>(largest * static_cast<Dim>(sizes.size()));
}

}  // namespace attn::parallel
