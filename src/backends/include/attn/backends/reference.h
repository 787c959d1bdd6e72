// The backend that defines every operation: plain loops, sums in double, one thread.
#pragma once

#include <memory>
#include <span>

#include "attn/backends/backend.h"

namespace attn::backends {

struct ReferenceOptions {
  /// Whether to fill the arena with NaN before every run, to reveal a plan that reads uninitialized values.
  bool poison_arena = false;
};

[[nodiscard]] std::unique_ptr<Backend> make_reference_backend(const ReferenceOptions& options = {});

/// Runs one node of a graph on tensors, for this backend and for others that lack a kernel. `outputs` are allocated,
/// with the shapes and dtypes that graph::infer gives. Each number is rounded once, on store. An output may share the
/// bytes of an input of the same size. `ranks` run the collectives; null for a single rank. Throws Error (bad_input),
/// with the layer's name, for invalid input values: an index out of range, an integer division by zero.
void evaluate(const graph::Node& node, const graph::Graph& graph, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs, communicators::Communicator* ranks = nullptr);

/// Applies a unary function as Keras defines it.
[[nodiscard]] double apply(const graph::Unary& function, double x);

/// Returns the derivative of a unary function. At points without one it is TensorFlow's value: 0 for relu at 0, 1 for
/// clip at a bound.
[[nodiscard]] double derivative(const graph::Unary& function, double x);

}  // namespace attn::backends
