// Selection and preparation of small products.
#pragma once

#include <string>

#include "attn/graph/op.h"
#include "device.h"
#include "kernel.h"
#include "small_product.h"

namespace attn::cuda {

/// The small product of a step with the result `out`.
[[nodiscard]] SmallProduct small_product_of(const graph::Linear& op, const Step& step);
/// Returns the reason why Hopper's kernel does not take it, or "".
[[nodiscard]] std::string why_not_small_product(const SmallProduct& product, const Device& device);
/// Prepares the product and returns the function that puts it on a stream.
[[nodiscard]] Launch prepare_small_product(const SmallProduct& product, const Device& device);

}  // namespace attn::cuda
