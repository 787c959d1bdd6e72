// Random numbers that NumPy can repeat: counter-based Philox, keyed by a seed and a name.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// A stream of random numbers that depends on (seed, name) alone, so that the order of use decides nothing.
/// It is numpy.random.Philox(key=[seed, zlib.crc32(name)]): `bits()` gives what `random_raw()` gives.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  std::uint64_t bits();
  /// Uniform in [0, 1): (bits >> 11) * 2^-53, as NumPy's Generator.random().
  double uniform();
  /// Standard normal by Box-Muller over two uniforms u, v: sqrt(-2 ln(1 - u)) * cos(2πv), then … * sin(2πv).
  double normal();

  /// What uniform(), or normal(), gives from its 4·block'th call on, wherever the stream stands.
  void uniforms(std::uint64_t block, std::span<double> out) const;
  void normals(std::uint64_t block, std::span<double> out) const;

 private:
  /// The words from the 4·number'th on.
  [[nodiscard]] std::array<std::uint64_t, 4> block(std::uint64_t number) const;

  std::array<std::uint64_t, 2> key_;
  std::uint64_t blocks_ = 0;  // that were begun
  std::array<std::uint64_t, 4> block_{};
  int used_ = 4;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace attn
