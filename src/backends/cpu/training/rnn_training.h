// Recurrent layers with weights that change between runs.
#pragma once

#include <memory>
#include <string>

#include "kernel.h"

namespace attn::backends::cpu {

[[nodiscard]] std::string why_not_dynamic_rnn(const StepInfo& step);
[[nodiscard]] MemoryNeeds dynamic_rnn_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_dynamic_rnn(const Step& step);

}  // namespace attn::backends::cpu
