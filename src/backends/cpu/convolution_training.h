// Convolution with a kernel that changes between runs.
#pragma once

#include <memory>

#include "kernel.h"

namespace attn::backends::cpu {

[[nodiscard]] Needs moving_conv_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_moving_conv(const Step& step);

}  // namespace attn::backends::cpu
