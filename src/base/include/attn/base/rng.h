// Random numbers that NumPy can reproduce: counter-based Philox, keyed by a seed and a name.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// A stream of random numbers that depends only on (seed, name), and not on the order of use. It equals
/// numpy.random.Philox(key=[seed, zlib.crc32(name)]): `bits()` returns what `random_raw()` returns.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  std::uint64_t bits();
  /// Returns a uniform number in [0, 1): (bits >> 11) * 2^-53, as NumPy's Generator.random().
  double uniform();
  /// Returns a standard normal number by Box-Muller. Two uniform numbers u, v give two results, first sqrt(-2 ln(1 -
  /// u)) * cos(2πv), then sqrt(-2 ln(1 - u)) * sin(2πv).
  double normal();

  /// Writes the results of uniform(), or normal(), from its 4·block'th call on, independent of the stream's position.
  void uniforms(std::uint64_t block, std::span<double> out) const;
  void normals(std::uint64_t block, std::span<double> out) const;

 private:
  /// Returns four words, from the 4·number'th on.
  [[nodiscard]] std::array<std::uint64_t, 4> block(std::uint64_t number) const;

  std::array<std::uint64_t, 2> key_;
  std::uint64_t blocks_ = 0;  // blocks started so far
  std::array<std::uint64_t, 4> block_{};
  int used_ = 4;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace attn
