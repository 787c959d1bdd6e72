// The order in which kernels are made and weights let go of.
#pragma once

#include <cstddef>
#include <vector>

#include "attn/plan/plan.h"

namespace attn::backends::cpu {

/// Who still has to read the weights, constants and prepared values while kernels are made.
class Readers {
 public:
  /// The plan must outlive this.
  explicit Readers(const plan::Plan& plan);
  /// One reader needs the value no more; true where it was the last.
  bool leaves(graph::ValueId id);
  /// The value whose bytes `id` shares.
  [[nodiscard]] graph::ValueId root(graph::ValueId id) const;

 private:
  const plan::Plan& plan_;
  std::vector<int> left_;  // by ValueId, of roots
};

/// The prepared nodes by the step before which they must run; behind the last step, those that only outputs need.
[[nodiscard]] std::vector<std::vector<graph::NodeId>> preparation_by_step(const plan::Plan& plan);

}  // namespace attn::backends::cpu
