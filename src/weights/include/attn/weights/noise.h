// Random numbers of layers in training.
#pragma once

#include <cstdint>

#include "attn/base/tensor.h"

namespace attn::weights {

/// Standard normal numbers as keras.random.normal on TensorFlow draws them for a SeedGenerator that was begun with
/// `seed` and has drawn `count` times.
void draw_noise(std::int64_t seed, std::int64_t count, const Tensor& out, int threads = 0);

}  // namespace attn::weights
