// The order in which kernels are made and weights are freed.
#pragma once

#include <cstddef>
#include <vector>

#include "attn/plan/plan.h"

namespace attn::backends::cpu {

/// Counts the remaining readers of weights, constants and prepared values while kernels are made.
class RemainingReaders {
 public:
  /// The plan must outlive this object.
  explicit RemainingReaders(const plan::Plan& plan);
  /// Records that one reader is done with the value; returns true if it was the last.
  bool leaves(graph::ValueId id);
  /// Returns the value whose bytes `id` shares.
  [[nodiscard]] graph::ValueId root(graph::ValueId id) const;

 private:
  const plan::Plan& plan_;
  std::vector<int> left_;  // indexed by ValueId, for roots
};

/// Returns the prepared nodes, grouped by the step that needs them first; the last group is only for outputs.
[[nodiscard]] std::vector<std::vector<graph::NodeId>> preparation_by_step(const plan::Plan& plan);

}  // namespace attn::backends::cpu
