// The letters of a dense map's einsum equation, one for each axis.
#pragma once

#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

struct EinsumLetters {
  std::string in, kernel, out;

  [[nodiscard]] std::string equation() const { return in + "," + kernel + "->" + out; }
  /// How many axes a plain dense map contracts: those at the end of the input that begin the kernel, where the output
  /// is the rest of both; 0 where it is none.
  [[nodiscard]] int contracted() const;
  /// The axes of the kernel that are summed over.
  [[nodiscard]] std::vector<int> summed() const;
  /// The shape that Keras gives to the scales of an int8 kernel: that of the output, with size 1 where the kernel has
  /// no axis, as far as there are enough axes (_analyze_quantization_info in einsum_dense.py).
  [[nodiscard]] Shape scale_shape(const Shape& of_kernel) const;
};

}  // namespace attn::keras
