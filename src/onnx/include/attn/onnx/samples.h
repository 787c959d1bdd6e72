// A model lowered at several sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::onnx {

/// A size that a model leaves open, such as the batch.
struct Length {
  std::string name;  ///< "batch", "tokens_1"
  /// The first input and axis that have this size; `input` is an index into Graph::inputs.
  int input = 0, axis = 0;
};

/// A model at several sizes. The exporter finds from them the formula of each size: factor·length·… + offset. A model
/// with fixed sizes has only `base`.
struct Samples {
  graph::Graph base;
  std::vector<Length> lengths;
  std::vector<std::int64_t> base_lengths;
  std::vector<std::vector<std::int64_t>> other_lengths;
  std::vector<graph::Graph> others;  ///< one for each length, with only that length changed, and one with all lengths
                                     ///< changed
};

}  // namespace attn::onnx
