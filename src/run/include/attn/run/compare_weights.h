// Compares two sets of weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/run/advance.h"
#include "attn/run/compare.h"

namespace attn::run {

/// An array on one side only.
struct UnpairedArray {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
};

/// An array on both sides.
struct PairedArray {
  std::string name;
  Shape shape_a, shape_b;
  DType dtype_a = DType::float32, dtype_b = DType::float32;
  /// Compares b with a; empty if the shapes differ.
  std::optional<OutputComparison> values;
  Similarity similarity;  ///< valid if `values` is set
  bool equal = false;
};

struct WeightsComparison {
  std::vector<UnpairedArray> only_a, only_b;
  std::vector<PairedArray> both;  ///< the arrays in the order of `a`
  [[nodiscard]] bool equal() const;
};

/// Pairs arrays by name. Without a tolerance, arrays of different dtypes differ even if their values are equal.
/// `advance` counts elements of `a`.
[[nodiscard]] WeightsComparison compare_weights(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b,
                                                const Tolerance& tolerance, const Advance& advance = {});

}  // namespace attn::run
