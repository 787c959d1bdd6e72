// How kernels report numbers that are wrong input, and go on.
#pragma once

#include <cstdint>

#include "kernel.h"
#include "simt.h"

namespace attn {
class Error;
}
namespace attn::graph {
struct Graph;
}

namespace attn::cuda {

/// Where a step reports to.
struct Reporter {
  Fault* fault = nullptr;
  int node = 0;

#if defined(__CUDACC__) || defined(ATTN_CUDA_EMULATED)  // the host only carries it
  /// The first report stays.
  __device__ void operator()(Fault::Kind kind, std::int64_t number, std::int64_t other = 0) const {
    if (fault == nullptr ||
        atomicCAS(&fault->kind, static_cast<int>(Fault::none), static_cast<int>(kind)) != Fault::none)
      return;
    fault->node = node;
    fault->number = number;
    fault->other = other;
  }
  /// Whether there is no report yet.
  __device__ bool none() const { return fault == nullptr || fault->kind == Fault::none; }
#endif
};
[[nodiscard]] inline Reporter reporter_of(const Step& step) { return {step.fault, step.node}; }

/// What is thrown for it.
[[nodiscard]] Error error_of(const Fault& fault, const graph::Graph& graph);

}  // namespace attn::cuda
