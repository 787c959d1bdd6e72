// Which kernel runs a step.
#pragma once

#include <string>

#include "attn/backends/backend.h"
#include "attn/graph/op.h"
#include "kernel.h"
#include "tuning.h"

namespace attn::cuda {

struct ProductOptions {
  backends::MatmulPrecision precision = backends::MatmulPrecision::highest;
  TuneLater& tune_later;
};

[[nodiscard]] Choice make_product(const graph::Linear& op, const Step& step, const ProductOptions& options);
[[nodiscard]] Choice make_product(const graph::MatMul& op, const Step& step, const ProductOptions& options);

/// The fastest kernel that takes the step, and why faster ones do not.
struct Chosen {
  std::string name;
  Launch launch;
  std::string why;
};
[[nodiscard]] Chosen choose(const Step& step, const ProductOptions& options);

}  // namespace attn::cuda
