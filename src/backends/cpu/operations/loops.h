// Loops over rows of numbers, shared by several kernels.
#pragma once

#include <cstdint>

namespace attn::backends::cpu {

/// y = y + x
void add_to(float* y, const float* x, std::int64_t size);
/// y = factor·x; they may alias.
void scale_row(const float* x, float factor, float* y, std::int64_t size);
/// x = cap·tanh(scale·x/cap); cap 0: scale·x.
void cap_row(float* x, float scale, float cap, std::int64_t size);
/// Sets x = `hidden` where `seen` is 0.
void hide(float* x, const std::uint8_t* seen, float hidden, std::int64_t size);
/// Returns whether there is no infinity and no NaN; `size` is a multiple of 16.
[[nodiscard]] bool is_finite(const float* x, std::int64_t size);
/// Sets x = 0 where `seen` is 0.
void clear_hidden(float* x, const std::uint8_t* seen, std::int64_t size);

}  // namespace attn::backends::cpu
