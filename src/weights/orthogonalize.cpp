// Modified Gram–Schmidt in double; random matrices are sufficiently well-conditioned. A panel of vectors stays in the
// cache while all later vectors are processed.
#include "orthogonalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attn/base/parallel.h"
#include "attn/base/stop.h"

namespace attn::weights {
namespace {

double dot(const double* a, const double* b, std::int64_t length) {
  std::array<double, 8> sums{};  // independent accumulators, so that the compiler can use vectors
  std::int64_t i = 0;
  for (; i + 8 <= length; i += 8)
    for (std::int64_t lane = 0; lane < 8; ++lane) sums[static_cast<std::size_t>(lane)] += a[i + lane] * b[i + lane];
  double sum = 0.0;
  for (; i < length; ++i) sum += a[i] * b[i];
  for (const double part : sums) sum += part;
  return sum;
}

/// a -= (a·q) q
void remove_part(double* a, const double* q, std::int64_t length) {
  const double part = dot(a, q, length);
  for (std::int64_t i = 0; i < length; ++i) a[i] -= part * q[i];
}

void normalize(double* a, std::int64_t length, double norm_before) {
  constexpr double kDependent = 1e-13;  // below this the rest is rounding error
  const double norm = std::sqrt(dot(a, a, length));
  const double factor = norm > kDependent * norm_before ? 1.0 / norm : 0.0;
  for (std::int64_t i = 0; i < length; ++i) a[i] *= factor;
}

constexpr std::int64_t kPanel = 32;

}  // namespace

void orthogonalize(std::span<double> vectors, std::int64_t count, std::int64_t length, int threads) {
  const auto at = [&](std::int64_t index) { return vectors.data() + index * length; };
  std::vector<double> norms_before(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j)
    norms_before[static_cast<std::size_t>(j)] = std::sqrt(dot(at(j), at(j), length));
  for (std::int64_t first = 0; first < count; first += kPanel) {
    const std::int64_t end = std::min(first + kPanel, count);
    for (std::int64_t j = first; j < end; ++j) {
      throw_if_stopped();
      for (std::int64_t q = first; q < j; ++q) remove_part(at(j), at(q), length);
      normalize(at(j), length, norms_before[static_cast<std::size_t>(j)]);
    }
    // A vector is reduced by the other vectors in a fixed order, whatever the threads.
    for_each_part((count - end + kPanel - 1) / kPanel, threads, [&](std::int64_t part) {
      throw_if_stopped();
      const std::int64_t from = end + part * kPanel;
      for (std::int64_t j = from; j < std::min(from + kPanel, count); ++j)
        for (std::int64_t q = first; q < end; ++q) remove_part(at(j), at(q), length);
    });
  }
}

}  // namespace attn::weights
