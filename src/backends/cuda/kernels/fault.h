// How kernels report numbers that are wrong input, and go on.
#pragma once

#include <cstdint>

#include "kernel.h"
#include "simt.h"

namespace attn::cuda {

/// Where a step reports to.
struct Reporter {
  Fault* fault = nullptr;
  int node = 0;

#if defined(__CUDACC__) || defined(ATTN_CUDA_EMULATED)  // the host only carries it
  /// The first report stays.
  __device__ void operator()(Fault::Kind kind, std::int64_t number, std::int64_t limit) const {
    if (fault == nullptr ||
        atomicCAS(&fault->kind, static_cast<int>(Fault::none), static_cast<int>(kind)) != Fault::none)
      return;
    fault->node = node;
    fault->number = number;
    fault->limit = limit;
  }
#endif
};
[[nodiscard]] inline Reporter reporter_of(const Step& step) { return {step.fault, step.node}; }

}  // namespace attn::cuda
