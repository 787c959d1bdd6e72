// Extracts the operations of a model, to run each of them on its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/run/session.h"

namespace attn::run {

/// An operation with its shapes and dtypes.
struct Operation {
  graph::Graph graph;  ///< a graph with one node
  std::vector<Tensor> inputs, weights;
  std::string name;        ///< name of the operation: "linear"
  std::string layer;       ///< the first Keras layer with this operation; "" if there is none
  std::int64_t count = 0;  ///< number of times the model contains the operation
  UInt128 flops = 0;       ///< FLOPs of one execution
  Traffic bytes;           ///< bytes of one execution
};

/// Returns the distinct operations of `graph` after fusion by the backend, with the values that a pass over `inputs`
/// gives them.
[[nodiscard]] std::vector<Operation> operations_of(const backends::Backend& backend, graph::Graph graph,
                                                   std::span<const Tensor> inputs, const std::vector<Tensor>& weights,
                                                   const backends::CompileOptions& options);

}  // namespace attn::run
