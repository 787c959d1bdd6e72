// Verifies the outputs of a benchmark.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

struct Verification {
  std::string
      against;  ///< "reference": the backend that defines the operations; "first pass"; "all at once"; "one by one"
  double error = 0;  ///< the largest ‖got − expected‖ / ‖expected‖ of the outputs; NaN if a NaN was compared with a
                     ///< number
  double tolerance = 0;
  bool pass = false;
};

/// ‖got − expected‖ / ‖expected‖ over all elements, except those that are NaN, or the same infinity, in both. 0 if both
/// are 0. Differences below the smallest normal float32 are ignored.
[[nodiscard]] double relative_error(const Tensor& expected, const Tensor& got);

/// Runs the lowered `graph` on the reference backend and compares. The tolerance is for finding wrong results. It is
/// the rounding error of the dtype (of TF32 or bfloat16 for products of reduced precision) times 256, because the
/// errors of layers accumulate and sums have another order.
[[nodiscard]] Verification verify(graph::Graph graph, const std::vector<Tensor>& weights,
                                  std::span<const Tensor> inputs, const std::vector<NamedTensor>& outputs,
                                  backends::MatmulPrecision precision);

/// Compares outputs that were computed in two ways, with the tolerance of verify(); `against` names the expected one.
[[nodiscard]] Verification verify_against(std::string against, const graph::Graph& graph, const Tensor& expected,
                                          const Tensor& got, backends::MatmulPrecision precision);

/// Compares two passes over the same inputs, which must be bitwise equal.
[[nodiscard]] Verification verify_repeat(const std::vector<NamedTensor>& first, const std::vector<NamedTensor>& last);

}  // namespace attn::run
