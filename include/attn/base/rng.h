// Random numbers that NumPy can repeat: counter-based Philox, keyed by a seed and a name.
#pragma once

#include <array>
#include <cstdint>
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

 private:
  std::array<std::uint64_t, 2> key_;
  std::array<std::uint64_t, 4> counter_{};
  std::array<std::uint64_t, 4> block_{};
  int used_ = 4;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace attn
