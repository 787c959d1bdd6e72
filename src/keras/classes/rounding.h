// Rounding to an element type.
#pragma once

#include "attn/base/tensor.h"

namespace attn::keras {

/// Rounds numbers to a dtype.
class Rounding {
 public:
  explicit Rounding(DType dtype) : one_(dtype, {1}) {}
  double operator()(double value) const {
    one_.set(0, value);
    return one_.at(0);
  }

 private:
  Tensor one_;
};

}  // namespace attn::keras
