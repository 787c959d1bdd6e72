// Other arrays that `attn train` writes.
#pragma once

#include <string>

#include "attn/train/trainer.h"

namespace attn::train {

/// Writes arrays weight:<path> and optimizer:<n>; the latter are those of Trainer::optimizer_state().
void write_dump(const std::string& path, const Trainer& trainer, const std::vector<NamedTensor>& state);

/// Writes only the factors of low-rank additions, by their paths: dense/lora_kernel_a and dense/lora_kernel_b, whose
/// product, times lora_alpha/rank, is added to dense/kernel.
void write_low_rank(const std::string& path, const Trainer& trainer);

/// Throws Error (usage) if no layer has a low-rank addition.
void expect_low_rank(const Trainer& trainer);

}  // namespace attn::train
