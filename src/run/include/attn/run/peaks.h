// The peak performance of the machine, measured with the backend's own kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/dtype.h"
#include "attn/run/session.h"

namespace attn::run {

struct Peaks {
  DType dtype = DType::float32;        ///< dtype of the matrix products; int8: quantized activations and an int8 weight
  double flops_per_second = 0;         ///< the highest rate over products of several sizes, which use different kernels
  double memory_bytes_per_second = 0;  ///< the higher rate of adding and of summing arrays that fit into no cache
  double shared_bytes_per_second = 0;  ///< for arrays that fit into the last-level cache only; 0 if there is none
  double cache_bytes_per_second = 0;   ///< for arrays that fit into the private caches of the cores; 0 on a GPU
  std::int64_t shared_bytes = 0;       ///< capacity of the last-level cache in bytes; 0 if unknown
  std::int64_t cache_bytes = 0;        ///< total capacity in bytes of the private caches; 0 if unknown
};

/// Takes a few seconds: everything is measured twice, at different times, and the best counts, because no step may
/// exceed a peak. `known` are peaks of the same device in another dtype, whose memory figures are reused. Throws Error
/// if the backend has no such matrix product.
[[nodiscard]] Peaks measure_peaks(const backends::Backend& backend, DType dtype,
                                  const backends::CompileOptions& options, const Peaks* known = nullptr);

/// Returns the bandwidth in bytes per second of reading `bytes` repeatedly, from the cache that holds them or from
/// memory. Takes the fastest of some passes for each part; runs for a fraction of a second. Uses a GPU's memory like
/// measure_peaks().
[[nodiscard]] double measure_bandwidth(const backends::Backend& backend, const backends::CompileOptions& options,
                                       std::int64_t bytes);

/// A lower bound of the time of a step by its FLOPs and bytes, and the resource that sets it.
struct Bound {
  double seconds = 0;
  bool by_memory = false;
};
/// Returns the bound of a step. `resident` is the total number of bytes that a pass touches. Weights come from the
/// nearest cache that can contain that many bytes, because the whole pass runs before they are read again. Results of
/// the previous steps may be in the nearest cache that can contain them.
[[nodiscard]] Bound bound_of(const Peaks& peaks, double flops, const Traffic& bytes, std::int64_t resident);

}  // namespace attn::run
