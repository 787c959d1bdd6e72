// Where the numbers of a plan's values are while it runs on the host.
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

/// States in the host's memory.
class HostStore : public SharedStore {
 public:
  [[nodiscard]] Tensor state(const std::string& name) const override;
  void set_state(const std::string& name, const Tensor& value) override;
  /// The state itself; made of zeros when it is asked for first. Throws Error (internal) where it has another type.
  [[nodiscard]] Tensor open(const graph::Value& value);

 private:
  std::map<std::string, Tensor> states_;
};

/// The store among the options, as one of the host's, or a new one. Throws Error (internal) where another kind of
/// backend made it.
[[nodiscard]] std::shared_ptr<HostStore> host_store(const CompileOptions& options);

/// One tensor per value of a plan: the caller's input, a weight, a constant, a state, a prepared value or a view of the
/// arena. The arena is allocated here, and so are prepared values when they are asked for.
class Storage {
 public:
  /// `weights` are in the order of graph.weights, with their shapes and dtypes; those that nothing reads may be empty.
  /// The plan must outlive this.
  Storage(const plan::Plan& plan, std::vector<Tensor> weights, HostStore& store);

  /// Makes these the inputs, in the order of graph.inputs, until the next call. Throws Error (internal) where one does
  /// not have its value's shape and dtype.
  void bind(std::span<const Tensor> inputs);

  /// The bytes of a value, under its shape and dtype; an empty tensor of a weight that is not there. Inputs must be
  /// bound.
  [[nodiscard]] Tensor tensor(graph::ValueId id) const;
  [[nodiscard]] std::byte* data(graph::ValueId id) const;
  [[nodiscard]] std::vector<Tensor> tensors(std::span<const graph::ValueId> ids) const;

  /// Allocates a prepared value; nothing where it is an alias.
  void add_prepared(graph::ValueId id);
  /// Lets go of a weight or prepared value that nothing reads any more because it was packed.
  void drop(graph::ValueId id);

  /// Fills the arena with NaN (all bits set), so that reading a value before it is written shows.
  void poison_arena();

  /// Bytes held: weights, states, prepared values and arena.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  const plan::Plan& plan_;
  std::shared_ptr<std::byte> arena_;
  std::vector<Tensor> tensors_;  // by ValueId; empty for an alias
};

}  // namespace attn::backends
