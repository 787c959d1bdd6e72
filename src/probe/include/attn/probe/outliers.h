// Massive activations: few elements of the residual stream that are thousands of times larger than the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/probe/subject.h"

namespace attn::probe {

/// An element is massive if it exceeds both limits (Sun et al. 2024).
struct OutlierOptions {
  double least = 100.0;   ///< limit of |x|
  double ratio = 1000.0;  ///< limit of |x| divided by the median of |x| in the layer
  std::int64_t top = 10;  ///< number of elements that are listed for each layer
};

struct Outlier {
  double value = 0, ratio = 0;
  std::int64_t position = 0, dimension = 0;
};

struct OutlierLayer {
  int layer = 0;
  double median = 0;
  std::int64_t count = 0;    ///< number of massive activations
  std::vector<Outlier> top;  ///< the largest by magnitude
};

/// Examines the stream after each block of the last stack.
[[nodiscard]] std::vector<OutlierLayer> outliers(const Subject& subject, const Prompt& prompt,
                                                 const OutlierOptions& options);

}  // namespace attn::probe
