// What the machine can do at best, measured with the backend's own kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/dtype.h"
#include "attn/run/bench.h"

namespace attn::run {

struct Peaks {
  DType dtype = DType::float32;
  double flops_per_second = 0;         ///< of one large product
  double memory_bytes_per_second = 0;  ///< of an addition of arrays that no cache holds
  double cache_bytes_per_second = 0;   ///< of one whose arrays the cores' own caches hold; 0 on a GPU
  std::int64_t cache_bytes = 0;        ///< that those hold together; 0 where the system does not tell
};

/// A second or so. Throws Error where the backend has no such product.
[[nodiscard]] Peaks measure_peaks(const backends::Backend& backend, DType dtype,
                                  const backends::CompileOptions& options);

/// The least time of a step of so many operations and bytes, and what sets it.
struct Bound {
  double seconds = 0;
  bool by_memory = false;
};
/// `resident` bytes are what a pass goes through in all: where the cores' caches hold that much, bytes come from them.
[[nodiscard]] Bound bound_of(const Peaks& peaks, double flops, double bytes, std::int64_t resident);

}  // namespace attn::run
