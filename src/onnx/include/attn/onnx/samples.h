// One model at several sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::onnx {

/// A size that a model leaves open.
struct Length {
  std::string name;  ///< "batch", "tokens_1"
  /// The input, by its place in Graph::inputs, and the axis of it whose size this is, first among several.
  int input = 0, axis = 0;
};

/// A model at several sizes, by which the exporter finds how each size in it follows from the lengths: as
/// factor·length·… + offset. A model of fixed sizes has `base` alone.
struct Samples {
  graph::Graph base;
  std::vector<Length> lengths;
  std::vector<std::int64_t> base_lengths;
  std::vector<std::vector<std::int64_t>> other_lengths;
  std::vector<graph::Graph> others;  ///< one for each length, in which it alone differs, and one in which all do
};

}  // namespace attn::onnx
