// The C library's log, sin and cos take one number at a time. This file replaces them by series, in a loop that the
// compiler vectorizes. If the error could change a float, which happens for one number in a million, the C library's
// result is used.
//
// Errors are relative to a number's radius √(−2 ln(1 − u)). The stream's angle is 2πv rounded, which is up to 2^-49.9
// from the exact one; the series, the logarithm and the root add less than 2^-50 each. kError is more than ten times
// the sum.
#include "near_normals.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "attn/base/clones.h"

namespace attn::weights {
namespace {

constexpr double kError = 0x1p-45;
constexpr std::size_t kStretch = 512;  // numbers in one chunk, so that all arrays stay in the L1 cache

/// Evaluates a polynomial: first + x·(next + x·…).
template <typename... Rest>
[[gnu::always_inline]] inline double polynomial(double x, double first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return first + x * polynomial(x, rest...);
  }
}

/// Returns ln x for 0 < x ≤ 1. With x = 2^k·m and m in [√½, √2), ln m = 2·artanh(f / (2 + f)), where f = m − 1.
[[gnu::always_inline]] inline double near_log(double x) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kRootOfHalf = 0x3fe6a09e667f3bcd, kMantissa = 0x000fffffffffffff;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) + (kOne - kRootOfHalf);
  // Converts the exponent to double without a conversion instruction; valid below 2^52.
  const double k = std::bit_cast<double>((shifted >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
  const double f = std::bit_cast<double>((shifted & kMantissa) + kRootOfHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double series =
      polynomial(z, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19);
  return k * std::numbers::ln2 + 2.0 * s * series;
}

/// Computes cos 2πv and sin 2πv for 0 ≤ v < 1, relative to the nearest quarter of the circle.
[[gnu::always_inline]] inline void near_circle(double v, double& cosine, double& sine) {
  constexpr double kRounder = 0x1.8p52;  // adding it rounds a number to an integer, in the lowest bits of the sum
  const double sum = 4.0 * v + kRounder;
  const auto quarter = std::bit_cast<std::uint64_t>(sum);
  const double angle = 2.0 * std::numbers::pi * (v - 0.25 * (sum - kRounder));
  const double z = angle * angle;
  const double s = polynomial(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800,
                              -1.0 / 1307674368000);  // 1/(2i + 1)!
  const double c = polynomial(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                              -1.0 / 87178291200, 1.0 / 20922789888000);  // 1/(2i)!
  const auto sine_bits = std::bit_cast<std::uint64_t>(s * angle), cosine_bits = std::bit_cast<std::uint64_t>(c);
  const std::uint64_t swapped = 0 - (quarter & 1);
  const std::uint64_t differing = (sine_bits ^ cosine_bits) & swapped;
  cosine = std::bit_cast<double>((cosine_bits ^ differing) ^ (((quarter + 1) & 2) << 62));
  sine = std::bit_cast<double>((sine_bits ^ differing) ^ ((quarter & 2) << 62));
}

/// `uniforms` alternates u and v; `errors` receives the error bound of each number.
ATTN_CLONES void near_normals(const double* uniforms, double* out, double* errors, std::size_t count) {
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    const double radius = std::sqrt(-2.0 * near_log(1.0 - uniforms[i]));
    double cosine, sine;
    near_circle(uniforms[i + 1], cosine, sine);
    out[i] = radius * cosine;
    out[i + 1] = radius * sine;
    // Near 0, floats are denser than this bound, so the C library decides there.
    errors[i] = errors[i + 1] = radius * kError + 0x1p-60;
  }
}

/// Marks the numbers that the C library must compute, and returns their count.
ATTN_CLONES std::int64_t find_open(const double* numbers, const double* errors, std::size_t count, double shift,
                                   double factor, double cut, std::int64_t* open) {
  const double of_numbers = std::fabs(factor), of_shift = std::fabs(shift) * 0x1p-50;
  std::int64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double number = shift + factor * numbers[i], error = of_numbers * errors[i] + of_shift;
    const bool rounds_apart = static_cast<float>(number - error) != static_cast<float>(number + error);
    const bool at_cut = std::fabs(std::fabs(numbers[i]) - cut) <= errors[i];
    open[i] = (rounds_apart ? 1 : 0) | (at_cut ? 1 : 0);
    found += open[i];
  }
  return found;
}

}  // namespace

void normals_for_floats(const RandomStream& stream, std::uint64_t block, double shift, double factor, double cut,
                        std::span<double> out) {
  std::array<double, kStretch> uniforms, errors, normals;
  std::array<std::int64_t, kStretch> open;
  for (; !out.empty(); block += kStretch / 4) {
    const std::size_t count = std::min(kStretch, out.size());
    const std::size_t whole = (count + 3) / 4 * 4;
    stream.uniforms(block, std::span(uniforms).first(whole));
    near_normals(uniforms.data(), normals.data(), errors.data(), whole);
    std::int64_t any = find_open(normals.data(), errors.data(), count, shift, factor, cut, open.data());
    for (std::size_t i = 0; any > 0 && i < count; ++i) {
      if (open[i] == 0) continue;
      std::array<double, 4> exact;
      stream.normals(block + i / 4, exact);
      normals[i] = exact[i % 4];
      --any;
    }
    std::copy_n(normals.begin(), count, out.begin());
    out = out.subspan(count);
  }
}

}  // namespace attn::weights
