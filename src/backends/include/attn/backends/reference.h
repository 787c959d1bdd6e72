// The backend that defines every operation: plain loops, sums in double, one thread.
#pragma once

#include <memory>
#include <span>

#include "attn/backends/backend.h"

namespace attn::backends {

struct ReferenceOptions {
  /// Fill the arena with NaN before every run, so that a plan that reads a value before it is written shows.
  bool poison_arena = false;
};

[[nodiscard]] std::unique_ptr<Backend> make_reference_backend(const ReferenceOptions& options = {});

/// Runs one node of a graph on tensors, for this backend and for others that lack a kernel. `outputs` are allocated,
/// with the shapes and dtypes that graph::infer gives; each number is rounded once, when it is stored. An output may
/// share the bytes of an input of the same size. Throws Error (bad_input), naming the layer, where the numbers
/// themselves are wrong: an index out of range, an integer division by zero.
/// Collectives are with `ranks`, without which there is one.
void evaluate(const graph::Node& node, const graph::Graph& graph, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs, communicators::Communicator* ranks = nullptr);

/// One function of one number, as Keras defines it.
[[nodiscard]] double apply(const graph::Unary& function, double x);

/// Its derivative. Where there is none it is the value that TensorFlow gives: 0 for relu at 0, 1 for clip at a bound.
[[nodiscard]] double derivative(const graph::Unary& function, double x);

}  // namespace attn::backends
