// The values of two models at the same points.
#pragma once

#include <string>
#include <vector>

#include "attn/probe/subject.h"

namespace attn::probe {

struct ComparedPoint {
  std::string a, b;  ///< the names of the point in the two models
  Shape shape_a, shape_b;
  /// ‖B−A‖∞, ‖B−A‖/‖A‖ and the cosine of the flattened arrays; NaN if the shapes differ.
  double max_abs = 0, relative = 0, cosine = 0;
  double cka = 0;  ///< linear centered kernel alignment over all positions
};

/// Compares points of a list with commas on the same prompts. Layers are paired by their relative depth if the models
/// have different numbers of them.
[[nodiscard]] std::vector<ComparedPoint> compare(const Subject& a, const Subject& b, std::span<const Prompt> prompts,
                                                 const std::string& points);

}  // namespace attn::probe
