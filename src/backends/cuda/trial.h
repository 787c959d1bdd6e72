// Kernels that no GPU has judged yet.
#pragma once

#include <string_view>

namespace attn::cuda {

/// Whether the kernel is to be taken although it is on trial: ATTN_CUDA_TRIAL names it, among others that are separated
/// by commas, as in ATTN_CUDA_TRIAL=small-product. Throws Error (usage) where that has a name of no such kernel.
[[nodiscard]] bool is_tried(std::string_view kernel);

}  // namespace attn::cuda
