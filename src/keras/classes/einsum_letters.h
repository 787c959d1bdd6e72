// The letters of a dense map's einsum equation, one for each axis.
#pragma once

#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

struct EinsumLetters {
  std::string in, kernel, out;

  [[nodiscard]] std::string equation() const { return in + "," + kernel + "->" + out; }
  /// The number of axes that a plain dense map contracts: the last of the input and first of the kernel, where the
  /// output consists of the other axes; 0 if it is not a plain dense map.
  [[nodiscard]] int contracted() const;
  /// The axes of the kernel that are summed over.
  [[nodiscard]] std::vector<int> summed() const;
  /// The shape of an int8 kernel's scales in Keras: that of the output, with size 1 for axes that are not in the
  /// kernel, truncated to the available axes (_analyze_quantization_info in einsum_dense.py).
  [[nodiscard]] Shape scale_shape(const Shape& of_kernel) const;
};

}  // namespace attn::keras
