#include "probabilities.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn::generate {
namespace {

/// Orders indices by descending value; equal values by index.
class Greater {
 public:
  explicit Greater(std::span<const float> x) : x_(x) {}
  bool operator()(std::int64_t a, std::int64_t b) const {
    const float x = x_[static_cast<std::size_t>(a)], y = x_[static_cast<std::size_t>(b)];
    return x > y || (!(y > x) && a < b);
  }

 private:
  std::span<const float> x_;
};

/// Returns the largest of the numbers; NaN if one of them is not finite. Several accumulators are used, so that
/// comparisons do not wait for each other.
float greatest(std::span<const float> x) {
  constexpr std::size_t kSide = 16;
  std::array<float, kSide> most, zeros{};  // 0 · x is NaN if x is not finite
  most.fill(-std::numeric_limits<float>::infinity());
  const auto look = [&](std::size_t side, float number) {
    most[side] = std::max(most[side], number);
    zeros[side] += 0.0F * number;
  };
  std::size_t i = 0;
  for (; i + kSide <= x.size(); i += kSide)
    for (std::size_t side = 0; side < kSide; ++side) look(side, x[i + side]);
  for (; i < x.size(); ++i) look(0, x[i]);
  return std::accumulate(zeros.begin(), zeros.end(), *std::ranges::max_element(most));
}

std::vector<std::int64_t> indices(std::span<const float> x) {
  std::vector<std::int64_t> all(x.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::vector<float> probabilities(std::span<const float> logits, double temperature) {
  std::vector<float> p(logits.begin(), logits.end());
  if (temperature != 1.0) {
    for (float& x : p) x /= static_cast<float>(temperature);
  }
  float maximum = -std::numeric_limits<float>::infinity();
  for (const float x : p) maximum = std::max(maximum, x);
  double sum = 0.0;
  for (float& x : p) sum += x = std::exp(x - maximum);
  for (float& x : p) x = static_cast<float>(x / sum);
  return p;
}

double log_probability(std::span<const float> logits, Token token) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (const float x : logits) maximum = std::max(maximum, static_cast<double>(x));
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(x - maximum);
  return logits[static_cast<std::size_t>(token)] - maximum - std::log(sum);
}

std::int64_t argmax(std::span<const float> x) {
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    if (std::isnan(x[static_cast<std::size_t>(i)])) return i;
    if (x[static_cast<std::size_t>(i)] > x[static_cast<std::size_t>(best)]) best = i;
  }
  return best;
}

std::int64_t most_probable(std::span<const float> logits, double temperature) {
  // A logit this close below the largest may have the same probability, and the lowest index of these wins. A quotient
  // by the temperature is rounded, which moves large logits by more than that.
  constexpr float kNear = 1e-4F;
  const float most = temperature == 1.0 ? greatest(logits) : std::numeric_limits<float>::quiet_NaN();
  std::int64_t near = 0;
  for (const float logit : logits) near += logit > most - kNear ? 1 : 0;
  if (near != 1) return argmax(probabilities(logits, temperature));
  return std::ranges::find(logits, most) - logits.begin();
}

std::vector<std::int64_t> top_sorted(std::span<const float> x, std::int64_t k) {
  std::vector<std::int64_t> all = indices(x);
  const auto end = all.begin() + std::min<std::int64_t>(k, std::ssize(all));
  std::partial_sort(all.begin(), end, all.end(), Greater(x));
  all.erase(end, all.end());
  return all;
}

std::vector<std::int64_t> top_unsorted(std::span<const float> x, std::int64_t k) {
  if (k >= std::ssize(x)) return top_sorted(x, k);
  const Greater greater(x);
  std::vector<std::int64_t> heap;
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    if (std::ssize(heap) <= k) {
      heap.push_back(i);
      if (std::ssize(heap) == k + 1) {
        std::make_heap(heap.begin(), heap.end(), greater);
        std::pop_heap(heap.begin(), heap.end(), greater);
      }
      continue;
    }
    // The first k elements are a heap whose front is the smallest. The element after them was popped and is unused.
    if (!greater(i, heap.front())) continue;
    std::pop_heap(heap.begin(), heap.end() - 1, greater);
    heap[heap.size() - 2] = i;
    std::push_heap(heap.begin(), heap.end() - 1, greater);
  }
  heap.resize(static_cast<std::size_t>(k));
  return heap;
}

}  // namespace attn::generate
