// Products of matrices that both change between runs.
#pragma once

#include <memory>

#include "kernel.h"

namespace attn::backends::cpu {

/// What the kernel of a MatMul needs, whatever changes.
[[nodiscard]] Needs matmul_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_matmul(const Step& step);

}  // namespace attn::backends::cpu
