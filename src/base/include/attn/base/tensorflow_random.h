// The random bits of TensorFlow's stateless operations on a CPU. The scramble of the seed is that of
// tensorflow/core/kernels/stateless_random_ops.cc; the numbers are those of lib/random/random_distributions.h.
#pragma once

#include <array>
#include <cstdint>

namespace attn {

/// The numbered blocks of four random words that TensorFlow draws for a seed of two numbers.
class TensorflowRandom {
 public:
  using Block = std::array<std::uint32_t, 4>;

  /// A seed as Keras passes it to the operations: (first mod 2^31 - 2, second mod 2^31 - 2). A keras.random draw with
  /// an integer seed has 0 for the second; a SeedGenerator increments it with each call.
  explicit TensorflowRandom(std::int64_t first, std::int64_t second = 0);

  [[nodiscard]] Block operator[](std::uint64_t number) const;

  /// The inputs of a block apart from its number: Philox 4x32-10 of (number, high) under the key.
  struct Counter {
    std::array<std::uint32_t, 2> key{}, high{};
  };
  [[nodiscard]] const Counter& counter() const { return counter_; }

 private:
  Counter counter_;
};

/// Returns a number in [0, 1) with 52 bits: the low 20 of `high`, then `low`.
[[nodiscard]] inline double tensorflow_uniform(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(std::uint64_t{high & 0xfffff} << 32 | low) * 0x1p-52;
}

}  // namespace attn
