// The letters of a dense map's einsum equation, one for each axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

[[nodiscard]] inline bool contains(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

struct EinsumLetters {
  std::string in, kernel, out;

  [[nodiscard]] std::string equation() const { return in + "," + kernel + "->" + out; }
  /// Returns the number of axes that a plain dense map contracts; 0 for other equations. In a plain dense map the
  /// contracted axes are the last of the input and the first of the kernel. Its output has the other axes in order.
  [[nodiscard]] int contracted() const;
  /// Returns the axes of the kernel that are summed over.
  [[nodiscard]] std::vector<int> summed() const;
  /// Returns the shape of an int8 kernel's scales in Keras (_analyze_quantization_info in einsum_dense.py). It is the
  /// shape of the output, with size 1 for axes that the kernel lacks, truncated to the available axes.
  [[nodiscard]] Shape scale_shape(const Shape& of_kernel) const;
};

}  // namespace attn::keras
