// Draws from categorical distributions like keras.random.categorical with TensorFlow's CPU kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/tensorflow_random.h"

namespace attn::generate {

/// The draws of a keras.random.SeedGenerator. Each call draws for a whole batch. According to
/// tensorflow/core/kernels/multinomial_op.cc, a draw uses two 32-bit words for each row. It computes the running sum of
/// exp(log p - max log p) in double over the finite values. The result is the first index whose sum exceeds the random
/// fraction of the total.
class Categorical {
 public:
  explicit Categorical(std::int64_t seed) : seed_(seed) {}

  /// Draws an index for each row of probabilities; the last one if none is above 0.
  [[nodiscard]] std::vector<std::int64_t> draw(std::span<const std::vector<float>> rows);

 private:
  std::int64_t seed_;
  std::int64_t calls_ = 0;
};

}  // namespace attn::generate
