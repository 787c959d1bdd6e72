// Draws from categorical distributions as keras.random.categorical does on TensorFlow's CPU kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/base/tensorflow_random.h"

namespace attn::generate {

/// The draws of a keras.random.SeedGenerator: each call is one for a whole batch. Facts from
/// tensorflow/core/kernels/multinomial_op.cc: two words a row, the running sum of exp(log p - max log p) in double over
/// the finite ones, and the first that the random share of the total does not reach.
class Categorical {
 public:
  explicit Categorical(std::int64_t seed) : seed_(seed) {}

  /// The index that is drawn for each row of probabilities. Where none is above 0 it is the last.
  [[nodiscard]] std::vector<std::int64_t> draw(std::span<const std::vector<float>> rows);

 private:
  std::int64_t seed_;
  std::int64_t calls_ = 0;
};

}  // namespace attn::generate
