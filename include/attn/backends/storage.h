// Where the numbers of a plan's values are while it runs on the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/plan/plan.h"

namespace attn::backends {

/// One tensor per value of a plan, viewing the caller's input, a weight, a constant, or its place in the prepared
/// memory or the arena, both of which this allocates.
class Storage {
 public:
  /// `weights` are in the order of graph.weights, with their shapes and dtypes. The plan must outlive this.
  Storage(const plan::Plan& plan, std::vector<Tensor> weights);

  /// Makes these the inputs, in the order of graph.inputs, until the next call. Throws Error (internal) where one does
  /// not have its value's shape and dtype.
  void bind(std::span<const Tensor> inputs);

  /// The bytes of a value, under its shape and dtype. Inputs must be bound.
  [[nodiscard]] Tensor tensor(graph::ValueId id) const;
  [[nodiscard]] std::byte* data(graph::ValueId id) const;
  [[nodiscard]] std::vector<Tensor> tensors(std::span<const graph::ValueId> ids) const;

  /// Lets go of a weight that nothing reads any more because it was packed.
  void drop_weight(graph::ValueId id);

  /// Fills the arena with NaN (all bits set), so that reading a value before it is written shows.
  void poison_arena();

  /// Bytes held: weights, prepared memory and arena.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  const plan::Plan& plan_;
  std::shared_ptr<std::byte> prepared_;
  std::shared_ptr<std::byte> arena_;
  std::vector<Tensor> tensors_;  // by ValueId; empty for an alias
};

}  // namespace attn::backends
