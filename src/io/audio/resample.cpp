// Resampling by a polyphase filter (Smith, "Digital Audio Resampling Home Page", 2002).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include "attn/base/error.h"
#include "attn/io/audio.h"

namespace attn::io {
namespace {

constexpr int kCrossings = 32;     // zero crossings of the sinc function on each side
constexpr double kBeta = 10.0;     // shape of the Kaiser window
constexpr double kRolloff = 0.95;  // cutoff as a share of the lower Nyquist frequency

/// The modified Bessel function of the first kind and order 0, by its series.
double bessel(double x) {
  double sum = 1.0, term = 1.0;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= (x / (2.0 * k)) * (x / (2.0 * k));
    sum += term;
  }
  return sum;
}

/// The weights of the samples around a result that lies `phase`/`phases` of a sample behind one of them.
class Weights {
 public:
  Weights(std::int64_t phases, double cutoff)
      : phases_(phases), cutoff_(cutoff), reach_(static_cast<std::int64_t>(std::ceil(kCrossings / cutoff))) {
    made_.resize(static_cast<std::size_t>(phases));
  }
  /// The number of samples before and after.
  [[nodiscard]] std::int64_t reach() const { return reach_; }

  /// Returns 2·reach weights with a sum of 1: those of the samples from 1 − reach to reach.
  const std::vector<float>& of(std::int64_t phase) {
    std::vector<float>& out = made_[static_cast<std::size_t>(phase)];
    if (!out.empty()) return out;
    const double at = static_cast<double>(phase) / static_cast<double>(phases_);
    std::vector<double> exact;
    for (std::int64_t k = 1 - reach_; k <= reach_; ++k) exact.push_back(weight(static_cast<double>(k) - at));
    const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
    for (const double value : exact) out.push_back(static_cast<float>(value / sum));
    return out;
  }

 private:
  [[nodiscard]] double weight(double distance) const {
    const double x = distance * cutoff_, inside = 1.0 - (x / kCrossings) * (x / kCrossings);
    if (inside <= 0.0) return 0.0;
    const double angle = std::numbers::pi * x;
    return (x == 0.0 ? 1.0 : std::sin(angle) / angle) * bessel(kBeta * std::sqrt(inside));
  }

  std::int64_t phases_;
  double cutoff_;  // a share of the Nyquist frequency of the given samples
  std::int64_t reach_;
  std::vector<std::vector<float>> made_;  // by phase
};

}  // namespace

Tensor resampled(const Tensor& samples, std::uint32_t from, std::uint32_t to) {
  if (from == to) return samples;
  if (from == 0 || to == 0) throw internal_error("a rate of 0 samples per second");
  const std::int64_t common = std::gcd(std::int64_t{from}, std::int64_t{to});
  const std::int64_t up = to / common, down = from / common;  // `up` results for `down` samples
  Weights weights(up, kRolloff * std::min(1.0, static_cast<double>(to) / static_cast<double>(from)));
  const auto given = samples.as<float>();
  const std::int64_t count = std::ssize(given), results = (count * up + down - 1) / down;
  Tensor out(DType::float32, {results});
  const auto values = out.as<float>();
  for (std::int64_t i = 0; i < results; ++i) {
    const std::int64_t before = i * down / up;
    const std::vector<float>& by = weights.of(i * down % up);
    const std::int64_t begin = before + 1 - weights.reach();
    const std::int64_t first = std::max<std::int64_t>(0, -begin);
    const std::int64_t last = std::min<std::int64_t>(std::ssize(by), count - begin);
    float sum = 0.0F;
    for (std::int64_t k = first; k < last; ++k)
      sum += by[static_cast<std::size_t>(k)] * given[static_cast<std::size_t>(begin + k)];
    values[static_cast<std::size_t>(i)] = sum;
  }
  return out;
}

}  // namespace attn::io
