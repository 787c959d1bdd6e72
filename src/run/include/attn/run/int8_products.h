// Predicate for int8 matrix products.
#pragma once

#include <variant>

#include "attn/graph/op.h"

namespace attn::run {

/// Returns whether the operation is an int8 or int4 layer that quantizes its activations and multiplies by an int8
/// weight.
[[nodiscard]] inline bool is_int8_product(const graph::Op& op) {
  const auto* const product = std::get_if<graph::QuantizedLinear>(&op);
  return product != nullptr && product->inputs.has_value();
}

}  // namespace attn::run
