// Kernel selection for a step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/graph/op.h"
#include "kernel.h"
#include "tuning.h"

namespace attn::cuda {

/// A check that runs once scratch memory exists and products are tuned. It uses memory without valid contents. Returns
/// the new name of the step's kernel if the kernel was replaced, with the reason. `tuning` is null if nothing is tuned.
struct Trial {
  struct Change {
    std::string name, why;
  };
  int node = 0;  ///< graph::NodeId
  std::function<std::optional<Change>(cudaStream_t, const Tuning* tuning)> run;
};

struct ProductOptions {
  backends::MatmulPrecision precision = backends::MatmulPrecision::highest;
  TuneLater& tune_later;
  std::vector<Trial>& trials;
};

[[nodiscard]] Choice make_product(const graph::Linear& op, const Step& step, const ProductOptions& options);
[[nodiscard]] Choice make_product(const graph::MatMul& op, const Step& step, const ProductOptions& options);

/// The fastest kernel that supports the step, and the reasons why faster ones do not.
struct Chosen {
  std::string name;
  Launch launch;
  std::string why;
};
[[nodiscard]] Chosen choose(const Step& step, const ProductOptions& options);

}  // namespace attn::cuda
