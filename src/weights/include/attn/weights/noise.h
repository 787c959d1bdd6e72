// Random numbers for layers in training.
#pragma once

#include <cstdint>

#include "attn/base/tensor.h"

namespace attn::weights {

/// Draws standard normal numbers like keras.random.normal on TensorFlow with a SeedGenerator that was created with
/// `seed` and has drawn `count` times.
void draw_noise(std::int64_t seed, std::int64_t count, const Tensor& out, int threads = 0);

}  // namespace attn::weights
