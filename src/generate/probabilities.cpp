#include "probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn::generate {
namespace {

/// Is index a's number before index b's in a list of the greatest?
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
    // The last place is free; the front is the least of the k.
    if (!greater(i, heap.front())) continue;
    std::pop_heap(heap.begin(), heap.end() - 1, greater);
    heap[heap.size() - 2] = i;
    std::push_heap(heap.begin(), heap.end() - 1, greater);
  }
  heap.resize(static_cast<std::size_t>(k));
  return heap;
}

}  // namespace attn::generate
