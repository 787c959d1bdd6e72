// Statistics of a tensor.
#pragma once

#include <cstdint>

#include "attn/base/tensor.h"

namespace attn::weights {

/// NaN and infinite elements are counted and otherwise ignored: min to stddev are over the finite elements, NaN if
/// there are none. stddev is that of the population (divided by the count). Bools count as 0 and 1.
struct TensorStats {
  std::int64_t count = 0;  ///< number of all elements
  double min = 0.0;
  double max = 0.0;
  double mean = 0.0;
  double stddev = 0.0;
  std::int64_t nan_count = 0;
  std::int64_t inf_count = 0;
  std::int64_t zeros = 0;

  friend bool operator==(const TensorStats&, const TensorStats&) = default;
};

[[nodiscard]] TensorStats stats_of(const Tensor& tensor);

}  // namespace attn::weights
