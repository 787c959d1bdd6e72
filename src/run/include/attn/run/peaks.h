// What the machine can do at best, measured with the backend's own kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/dtype.h"
#include "attn/run/session.h"

namespace attn::run {

struct Peaks {
  DType dtype = DType::float32;        ///< of products; int8: of quantized rows and a weight of bytes
  double flops_per_second = 0;         ///< the best of products of several sizes, which get different kernels
  double memory_bytes_per_second = 0;  ///< the best of adding and summing arrays that no cache holds
  double shared_bytes_per_second = 0;  ///< of arrays that the last cache holds, not the cores' own; 0: it has none
  double cache_bytes_per_second = 0;   ///< of arrays that the cores' own caches hold; 0 on a GPU
  std::int64_t shared_bytes = 0;       ///< that the last cache holds; 0 where the system does not tell
  std::int64_t cache_bytes = 0;        ///< that the cores' own caches hold together; 0 likewise
};

/// A few seconds: everything is tried twice, at different times, and the best counts, as no step may beat a peak.
/// `known` are peaks of the same device in another dtype, whose memory is the same. Throws Error where the backend has
/// no such product.
[[nodiscard]] Peaks measure_peaks(const backends::Backend& backend, DType dtype,
                                  const backends::CompileOptions& options, const Peaks* known = nullptr);

/// The bytes per second of reading so many `bytes` again and again, from the cache that holds them, or the memory: of
/// each part the fastest of some passes, in a fraction of a second. Of a GPU's memory as in measure_peaks().
[[nodiscard]] double measure_bandwidth(const backends::Backend& backend, const backends::CompileOptions& options,
                                       std::int64_t bytes);

/// The least time of a step of so many operations and bytes, and what sets it.
struct Bound {
  double seconds = 0;
  bool by_memory = false;
};
/// `resident` bytes are what a pass goes through in all: weights come from the nearest cache that holds that much, as
/// all of it passes before they are read again. What the steps before have left may be in the nearest that holds it.
[[nodiscard]] Bound bound_of(const Peaks& peaks, double flops, const Traffic& bytes, std::int64_t resident);

}  // namespace attn::run
