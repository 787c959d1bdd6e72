// The operations of a model, each to be run alone.
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

/// One operation of some shapes and dtypes.
struct Operation {
  graph::Graph graph;  ///< of one node
  std::vector<Tensor> inputs, weights;
  std::string name;        ///< "linear"
  std::string layer;       ///< the first Keras layer that has it, "" for none
  std::int64_t count = 0;  ///< how often the model has it
  UInt128 flops = 0;       ///< of one
  Traffic bytes;           ///< of one
};

/// What differs in `graph`, as the backend fuses it, with the numbers that a pass over `inputs` meets there.
[[nodiscard]] std::vector<Operation> operations_of(const backends::Backend& backend, graph::Graph graph,
                                                   std::span<const Tensor> inputs, const std::vector<Tensor>& weights,
                                                   const backends::CompileOptions& options);

}  // namespace attn::run
