// Gamma and beta of a layer normalization, as kernels receive them.
#pragma once

#include <cstddef>
#include <optional>

#include "attn/graph/op.h"
#include "kernel.h"

namespace attn::cuda {

/// Arrays of (columns) elements.
struct NormParameters {
  const std::byte* gamma = nullptr;  ///< null: 1
  const std::byte* beta = nullptr;   ///< null: 0
  DType dtype = DType::float32;      ///< dtype of both
  bool are_still = false;            ///< whether no step of a pass writes to them
};

/// Returns the parameters of a step of `op`, if both have the same dtype, which must be that of the rows or float32.
/// Otherwise empty.
[[nodiscard]] inline std::optional<NormParameters> norm_parameters(const graph::LayerNorm& op, const Step& norm) {
  NormParameters out;
  out.are_still = true;
  for (std::size_t i = 1; i < norm.inputs.size(); ++i) {
    const Operand& input = norm.inputs[i];
    if (i > 1 && input.dtype != out.dtype) return std::nullopt;
    if (input.dtype != norm.inputs[0].dtype && input.dtype != DType::float32) return std::nullopt;
    out.dtype = input.dtype;
    out.are_still = out.are_still && input.still;
    (op.scale && i == 1 ? out.gamma : out.beta) = input.data;
  }
  return out;
}

}  // namespace attn::cuda
