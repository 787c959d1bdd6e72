// Are the outputs that were timed the right ones?
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
      against;  ///< "reference", the backend that defines the operations; "first pass"; "all at once", "one by one"
  double error = 0;  ///< the largest of the outputs' ‖got − expected‖ / ‖expected‖; NaN where a NaN met a number
  double tolerance = 0;
  bool pass = false;
};

/// ‖got − expected‖ / ‖expected‖ over all elements that are not NaN, or the same infinity, in both. 0 where both are 0.
/// Differences below the smallest normal float32 count as none.
[[nodiscard]] double relative_error(const Tensor& expected, const Tensor& got);

/// Runs `graph`, as it was lowered, on the reference backend and compares. The tolerance is meant to find wrong
/// results: the roundoff of the dtype (of TF32 or bfloat16 for products of less precision) times 256, since layer after
/// layer rounds, and sums are taken in another order.
[[nodiscard]] Verification verify(graph::Graph graph, const std::vector<Tensor>& weights,
                                  std::span<const Tensor> inputs, const std::vector<NamedTensor>& outputs,
                                  backends::MatmulPrecision precision);

/// The same of outputs of `graph` that were computed in two ways, `against` names the one that is expected.
[[nodiscard]] Verification verify_against(std::string against, const graph::Graph& graph, const Tensor& expected,
                                          const Tensor& got, backends::MatmulPrecision precision);

/// Compares two passes over the same inputs, which give the same bits.
[[nodiscard]] Verification verify_repeat(const std::vector<NamedTensor>& first, const std::vector<NamedTensor>& last);

}  // namespace attn::run
