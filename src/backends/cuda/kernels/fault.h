// Reports invalid input values from kernels, which then continue.
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

/// The destination of the faults that the kernels of a step report.
struct Reporter {
  Fault* fault = nullptr;
  int node = 0;

#if defined(__CUDACC__) || defined(ATTN_CUDA_EMULATED)  // the host only passes the struct to kernels
  /// Keeps the first report.
  __device__ void operator()(Fault::Kind kind, std::int64_t number, std::int64_t other = 0) const {
    if (fault == nullptr ||
        atomicCAS(&fault->kind, static_cast<int>(Fault::none), static_cast<int>(kind)) != Fault::none)
      return;
    fault->node = node;
    fault->number = number;
    fault->other = other;
  }
  /// Returns whether there is no report yet.
  __device__ bool none() const { return fault == nullptr || fault->kind == Fault::none; }
#endif
};
[[nodiscard]] inline Reporter reporter_of(const Step& step) { return {step.fault, step.node}; }

/// Returns the error to throw for a fault.
[[nodiscard]] Error error_of(const Fault& fault, const graph::Graph& graph);

}  // namespace attn::cuda
