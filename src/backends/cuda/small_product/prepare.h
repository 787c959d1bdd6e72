// Which small products are taken, and what makes them ready.
#pragma once

#include <string>

#include "attn/graph/op.h"
#include "device.h"
#include "kernel.h"
#include "small_product.h"

namespace attn::cuda {

/// That of a step, whose result is `out`.
[[nodiscard]] SmallProduct small_product_of(const graph::Linear& op, const Step& step);
/// Why Hopper's kernel does not take it, or "".
[[nodiscard]] std::string why_not_small_product(const SmallProduct& product, const Device& device);
/// What puts it on a stream, with everything made ready.
[[nodiscard]] Launch prepare_small_product(const SmallProduct& product, const Device& device);

}  // namespace attn::cuda
