// The memory of a plan's values during runs on the host.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/plan/plan.h"

namespace attn::backends {

/// States in host memory.
class HostStore : public SharedStore {
 public:
  [[nodiscard]] Tensor state(const std::string& name) const override;
  void set_state(const std::string& name, const Tensor& value) override;
  /// Returns the state itself, not a copy. The first call creates it with zeros. Throws Error (internal) if the state
  /// has another shape or dtype.
  [[nodiscard]] Tensor open(const graph::Value& value);

 private:
  std::map<std::string, Tensor> states_;
};

/// Returns the store among the options as a HostStore, or a new one. Throws Error (internal) if another kind of backend
/// made it.
[[nodiscard]] std::shared_ptr<HostStore> host_store(const CompileOptions& options);

/// One tensor per value of a plan: the caller's input, a weight, a constant, a state, a prepared value or a view of the
/// arena. It allocates the arena, and prepared values on request.
class Storage {
 public:
  /// `weights` are in the order of graph.weights, with their shapes and dtypes; unused ones may be empty. The plan must
  /// outlive this object.
  Storage(const plan::Plan& plan, std::vector<Tensor> weights, HostStore& store);

  /// Sets the inputs, in the order of graph.inputs, until the next call. Throws Error (internal) if one does not have
  /// its value's shape and dtype.
  void bind(std::span<const Tensor> inputs);

  /// Returns a value with its shape and dtype; an empty tensor for a missing weight. Inputs must be bound.
  [[nodiscard]] Tensor tensor(graph::ValueId id) const;
  [[nodiscard]] std::byte* data(graph::ValueId id) const;
  [[nodiscard]] std::vector<Tensor> tensors(std::span<const graph::ValueId> ids) const;

  /// Allocates a prepared value; does nothing for an alias.
  void add_prepared(graph::ValueId id);
  /// Frees a weight or prepared value that is no longer read because it was packed.
  void drop(graph::ValueId id);

  /// Fills the arena with NaN (all bits set), to reveal reads of uninitialized values.
  void poison_arena();

  /// Returns the bytes of weights, states, prepared values and arena.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  const plan::Plan& plan_;
  std::shared_ptr<std::byte> arena_;
  std::vector<Tensor> tensors_;  // indexed by ValueId; empty for an alias
};

}  // namespace attn::backends
