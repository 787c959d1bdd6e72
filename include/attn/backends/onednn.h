// The CPU backend: oneDNN for products, and simple vectorised loops around it.
#pragma once

#include <memory>

#include "attn/backends/backend.h"

namespace attn::backends {

/// Runs float32 with products by oneDNN and loops of its own for the rest; bfloat16 products as bfloat16 with float32
/// sums; other half-precision work in float32, rounded when it is stored. What it has no kernel for runs on the
/// reference's; Executable::choices() says which and why.
[[nodiscard]] std::unique_ptr<Backend> make_onednn_backend();

}  // namespace attn::backends
