// Helpers of this module's tests.
#pragma once

#include <vector>

#include "attn/base/tensor.h"

namespace attn::run {

inline Tensor array(const std::vector<double>& values, DType dtype) {
  const Tensor tensor(dtype, {static_cast<Dim>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

}  // namespace attn::run
