// The check of token ids that a user gives.
#pragma once

#include <cstdint>
#include <span>

namespace attn::tokenizers {

/// Throws Error (usage) if an id is negative, or no token of a model with `vocabulary_size` tokens.
void expect_ids(std::span<const std::int32_t> ids, std::int64_t vocabulary_size);

}  // namespace attn::tokenizers
