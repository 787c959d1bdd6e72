// What becomes of a block of 32 × 32 sums before it is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"
#include "unary.h"

namespace attn::backends::cpu {

/// Where `rows` ≤ 32 rows of `width` ≤ 32 numbers go, in float32 or bfloat16.
struct TileOutput {
  DType dtype;
  void* y;
  const void* residual;  ///< lies as y does; null: none
  std::int64_t rows, width;
  std::int64_t stride;  ///< numbers from one row of y to the next
};

/// The activations that are computed as a block is written; `other` ones have to be before.
enum class TileActivation : std::uint8_t { none, relu, gelu, gelu_tanh, other };
[[nodiscard]] TileActivation tile_activation(const graph::Unary& function);

/// y = activation(sums + bias) + residual, where NaN stays. bias has 32 numbers. False where a sum, with all 32
/// columns, is infinite or NaN.
bool write_out(const float* sums, const float* bias, TileActivation activation, const TileOutput& out);

/// sums = sums + bias, of so many rows.
void add_bias(float* sums, const float* bias, std::int64_t rows);

}  // namespace attn::backends::cpu
