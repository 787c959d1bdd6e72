#include "classes/layers/attention/alibi.h"

#include <cmath>

#include "attn/base/error.h"

namespace attn::keras {

std::vector<double> alibi_slopes(Dim heads, double bias_max) {
  constexpr Dim kMost = 1 << 20;
  if (heads > kMost) throw bad_input("{} heads with linear biases are not accepted: up to {}", heads, kMost);
  const auto sequence = [&](Dim count) {
    const double ratio = std::pow(2.0, -bias_max / static_cast<double>(count));
    std::vector<double> out;
    for (double slope = ratio; static_cast<Dim>(out.size()) < count; slope *= ratio) out.push_back(slope);
    return out;
  };
  Dim lower = 1;
  while (lower <= heads / 2) lower *= 2;
  std::vector<double> out = sequence(lower);
  const std::vector<double> next = sequence(2 * lower);
  for (std::size_t i = 0; static_cast<Dim>(out.size()) < heads; i += 2) out.push_back(next[i]);
  return out;
}

}  // namespace attn::keras
