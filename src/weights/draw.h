// Filling a tensor with random numbers of one distribution.
#pragma once

#include <cstdint>

#include "attn/base/rng.h"
#include "attn/base/tensor.h"

namespace attn::weights {

enum class Distribution : std::uint8_t {
  uniform,           ///< in [first, second)
  normal,            ///< of mean `first` and standard deviation `second`
  truncated_normal,  ///< the same, drawn again beyond two standard deviations
};

struct Draw {
  Distribution distribution = Distribution::uniform;
  double first = 0.0;
  double second = 1.0;
};

/// Numbers that a thread draws at a time: a tenth of a millisecond's work, and in cache. A whole number of the groups
/// of four or two that generators give.
inline constexpr std::int64_t kPart = 4096;

/// Where truncated normals are cut, in standard deviations.
inline constexpr double kTruncateAt = 2.0;

/// Both fill a floating tensor in the order of its elements, rounded to its dtype, on so many threads (0: all), whose
/// number changes nothing but the time. They throw Stopped.
/// The stream is taken from its beginning.
void draw_from_stream(const RandomStream& stream, const Draw& draw, const Tensor& out, int threads);
/// As keras.random on TensorFlow draws for an integer seed. The uniform distribution agrees bit for bit; the normals do
/// where the C library's logf and sincosf are those that TensorFlow calls, and to the last bit or two elsewhere.
void draw_as_tensorflow(std::int64_t seed, const Draw& draw, const Tensor& out, int threads, std::int64_t count = 0);

}  // namespace attn::weights
