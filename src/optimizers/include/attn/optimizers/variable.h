// A weight that an optimizer trains.
#pragma once

#include <optional>
#include <string>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/optimizers/settings.h"

namespace attn::optimizers {

/// A weight that is trained. Its gradient, its slots and the arithmetic of a step have its dtype, as in Keras.
struct Variable {
  std::string path;
  Shape shape;
  std::optional<Constraint> constraint;
  DType dtype = DType::float32;  ///< a floating dtype
};

}  // namespace attn::optimizers
