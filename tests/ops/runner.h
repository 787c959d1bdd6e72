// The backends, each as a runner of single operations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/graph/graph.h"
#include "cases.h"

namespace attn::test {

struct Runner {
  std::string name;
  std::unique_ptr<backends::Backend> backend;
  int threads;
  bool trains = true;  ///< whether it runs quantized weights and training operations
};

/// Every backend, and oneDNN once more with all its threads in the smallest operation.
[[nodiscard]] std::vector<Runner> all_runners();

/// A graph of the one operation; every output of it is an output.
[[nodiscard]] graph::Graph graph_of(const Case& row);

/// The outputs of a case on a backend, from a second run over an arena that the first one has used.
[[nodiscard]] std::vector<Tensor> run_on(const backends::Backend& backend, const Case& row,
                                         const std::vector<Tensor>& operands, int threads = 0);

}  // namespace attn::test
