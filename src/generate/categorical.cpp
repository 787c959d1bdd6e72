#include "categorical.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::generate {
namespace {

std::int64_t pick(std::span<const float> probabilities, double share) {
  double maximum = -std::numeric_limits<double>::infinity();
  std::vector<double> logits;
  logits.reserve(probabilities.size());
  for (const float p : probabilities) {
    logits.push_back(std::log(p));  // computed in float32, as ops.log does
    if (std::isfinite(logits.back())) maximum = std::max(maximum, logits.back());
  }
  std::vector<double> sums;
  sums.reserve(logits.size());
  double sum = 0.0;
  for (const double logit : logits) {
    if (std::isfinite(logit)) sum += std::exp(logit - maximum);
    sums.push_back(sum);
  }
  const auto found = std::upper_bound(sums.begin(), sums.end(), share * sum);
  return std::min<std::int64_t>(found - sums.begin(), std::ssize(sums) - 1);
}

}  // namespace

std::vector<std::int64_t> Categorical::draw(std::span<const std::vector<float>> rows) {
  const TensorflowRandom random(seed_, calls_++);
  std::vector<std::int64_t> drawn;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const TensorflowRandom::Block block = random[row / 2];
    const std::size_t word = row % 2 * 2;
    drawn.push_back(pick(rows[row], tensorflow_uniform(block[word], block[word + 1])));
  }
  return drawn;
}

}  // namespace attn::generate
