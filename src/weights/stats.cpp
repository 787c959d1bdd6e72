#include "attn/weights/stats.h"

#include <algorithm>
#include <cmath>

namespace attn::weights {
namespace {

/// Calls `visit` with each element as a double. float32, the dtype of nearly all weights, has a loop without a switch
/// on the dtype.
template <typename Visit>
void for_each(const Tensor& tensor, Visit&& visit) {
  if (tensor.dtype() == DType::float32) {
    for (const float element : tensor.as<const float>()) visit(static_cast<double>(element));
  } else {
    for (std::int64_t i = 0; i < tensor.size(); ++i) visit(tensor.at(i));
  }
}

}  // namespace

TensorStats stats_of(const Tensor& tensor) {
  TensorStats stats;
  stats.count = tensor.size();
  std::int64_t finite = 0;
  double sum = 0.0;
  for_each(tensor, [&](double value) {
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? stats.nan_count : stats.inf_count);
      return;
    }
    if (finite++ == 0) stats.min = stats.max = value;
    stats.min = std::min(stats.min, value);
    stats.max = std::max(stats.max, value);
    if (value == 0.0) ++stats.zeros;
    sum += value;
  });
  if (finite == 0) {
    stats.min = stats.max = stats.mean = stats.stddev = std::nan("");
    return stats;
  }
  stats.mean = sum / static_cast<double>(finite);
  double squares = 0.0;
  for_each(tensor, [&](double value) {
    if (std::isfinite(value)) squares += (value - stats.mean) * (value - stats.mean);
  });
  stats.stddev = std::sqrt(squares / static_cast<double>(finite));
  return stats;
}

}  // namespace attn::weights
