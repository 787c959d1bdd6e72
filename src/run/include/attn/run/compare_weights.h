// Two sets of weights against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/run/advance.h"
#include "attn/run/compare.h"

namespace attn::run {

/// An array that only one side has.
struct LoneArray {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
};

/// An array that both sides have.
struct PairedArray {
  std::string name;
  Shape shape_a, shape_b;
  DType dtype_a = DType::float32, dtype_b = DType::float32;
  /// b against a; nothing where the shapes differ.
  std::optional<OutputComparison> values;
  Likeness likeness;  ///< where `values` are
  bool equal = false;
};

struct WeightsComparison {
  std::vector<LoneArray> only_a, only_b;
  std::vector<PairedArray> both;  ///< in a's order
  [[nodiscard]] bool equal() const;
};

/// Pairs arrays by name. Without any tolerance arrays of two dtypes differ, whatever their numbers. `advance` counts
/// numbers of `a`.
[[nodiscard]] WeightsComparison compare_weights(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b,
                                                const Tolerance& tolerance, const Advance& advance = {});

}  // namespace attn::run
