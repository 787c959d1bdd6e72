// Which operations are bounded by products of bytes.
#pragma once

#include <variant>

#include "attn/graph/op.h"

namespace attn::run {

/// Those of int8 and int4 layers that quantize what they read, by a weight of bytes.
[[nodiscard]] inline bool multiplies_bytes(const graph::Op& op) {
  const auto* const product = std::get_if<graph::QuantizedLinear>(&op);
  return product != nullptr && product->inputs.has_value();
}

}  // namespace attn::run
