// Fills a tensor with random numbers of a distribution.
#pragma once

#include <cstdint>

#include "attn/base/rng.h"
#include "attn/base/tensor.h"

namespace attn::weights {

enum class Distribution : std::uint8_t {
  uniform,           ///< uniform in [first, second)
  normal,            ///< normal, with mean `first` and standard deviation `second`
  truncated_normal,  ///< normal, with numbers beyond two standard deviations redrawn
};

struct Draw {
  Distribution distribution = Distribution::uniform;
  double first = 0.0;
  double second = 1.0;
};

/// Numbers in one task: about 0.1 ms of work, and they fit into the cache. A multiple of the generators' group sizes
/// (four and two).
inline constexpr std::int64_t kPart = 4096;

/// The limit of truncated normals, in standard deviations.
inline constexpr double kTruncateAt = 2.0;

/// Fills a floating tensor with the first numbers of a stream, rounded to the tensor's dtype, in the order of its
/// elements. The number of threads (0: all cores) does not change the result. Throws Stopped.
void draw_from_stream(const RandomStream& stream, const Draw& draw, const Tensor& out, int threads);
/// Draws like keras.random on TensorFlow with an integer seed. Uniform numbers are bitwise equal. Normal numbers are
/// bitwise equal if the C library has the logf and sincosf that TensorFlow uses; otherwise they may differ in the last
/// two bits. Threads and errors are those of draw_from_stream().
void draw_as_tensorflow(std::int64_t seed, const Draw& draw, const Tensor& out, int threads, std::int64_t count = 0);

}  // namespace attn::weights
