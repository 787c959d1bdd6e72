// Convolution with a kernel that changes between runs.
#pragma once

#include <memory>

#include "kernel.h"

namespace attn::backends::cpu {

[[nodiscard]] MemoryNeeds dynamic_conv_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_dynamic_conv(const Step& step);

}  // namespace attn::backends::cpu
