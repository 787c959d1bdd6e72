// Products of matrices that both change between runs.
#pragma once

#include <memory>
#include <string>

#include "kernel.h"

namespace attn::backends::cpu {

/// One product: the right side has no batches, and the left side has none or is rows of one matrix.
[[nodiscard]] std::string why_not_single(const StepInfo& step);
[[nodiscard]] Needs single_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_single(const Step& step);

/// The same of bfloat16, by dot products.
[[nodiscard]] std::string why_not_single_half(const StepInfo& step);
[[nodiscard]] Needs single_half_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_single_half(const Step& step);

/// Products over batches.
[[nodiscard]] Needs matmul_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_matmul(const Step& step);

}  // namespace attn::backends::cpu
