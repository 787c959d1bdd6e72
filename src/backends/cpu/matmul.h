// Products of matrices that both change between runs.
#pragma once

#include <memory>

#include "kernel.h"

namespace attn::backends::cpu {

/// A MatMul, whatever changes.
[[nodiscard]] std::unique_ptr<Kernel> make_matmul(const graph::MatMul& op, const Step& step);

}  // namespace attn::backends::cpu
