// Arrays that `attn train` writes beside the trained model.
#pragma once

#include <string>

#include "attn/train/trainer.h"

namespace attn::train {

/// weight:<path> and optimizer:<n>, the latter as Trainer::optimizer_state() gives them.
void write_dump(const std::string& path, const Trainer& trainer, const std::vector<NamedTensor>& state);

/// The factors of low-rank additions alone, by their paths: dense/lora_kernel_a and dense/lora_kernel_b, whose product,
/// times lora_alpha/rank, is what is added to dense/kernel.
void write_low_rank(const std::string& path, const Trainer& trainer);

/// Throws Error (usage) where there is none.
void expect_low_rank(const Trainer& trainer);

}  // namespace attn::train
