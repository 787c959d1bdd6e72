// Products of two matrices that change between runs.
#pragma once

#include <memory>
#include <string>

#include "kernel.h"

namespace attn::backends::cpu {

/// Returns the kernel for a single product: the right operand has no batch axes, and those of the left one can be
/// merged with its rows.
[[nodiscard]] std::string why_not_single(const StepInfo& step);
[[nodiscard]] MemoryNeeds single_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_single(const Step& step);

/// Returns the kernel for a single product of bfloat16 numbers, by dot products.
[[nodiscard]] std::string why_not_single_half(const StepInfo& step);
[[nodiscard]] MemoryNeeds single_half_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_single_half(const Step& step);

/// Returns the kernel for products with batch axes.
[[nodiscard]] MemoryNeeds matmul_needs(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_matmul(const Step& step);

}  // namespace attn::backends::cpu
