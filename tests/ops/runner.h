// The backends, each as something that runs one operation.
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
  bool trains = true;  ///< does it run weights of integers, and what only backward graphs have?
};

/// Every backend, and oneDNN once more with work for all its threads in the smallest operation.
[[nodiscard]] std::vector<Runner> all_runners();

/// A graph of the one operation; every output of it is an output.
[[nodiscard]] graph::Graph graph_of(const Case& row);

/// The outputs of a case as a backend gives them, of a second run over an arena that the first has used.
[[nodiscard]] std::vector<Tensor> run_on(const backends::Backend& backend, const Case& row,
                                         const std::vector<Tensor>& operands, int threads = 0);

}  // namespace attn::test
