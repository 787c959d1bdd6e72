// The epilogue of a block of 32 × 32 sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"
#include "operations/unary.h"

namespace attn::backends::cpu {

/// The destination of `rows` ≤ 32 rows of `width` ≤ 32 numbers, in float32 or bfloat16.
struct TileOutput {
  DType dtype;
  void* y;
  const void* residual;  ///< laid out as y, or null
  std::int64_t rows, width;
  std::int64_t stride;  ///< row stride of y
};

/// The activations that the epilogue computes; `other` must be applied separately.
enum class TileActivation : std::uint8_t { none, relu, gelu, gelu_tanh, other };
[[nodiscard]] TileActivation tile_activation(const graph::Unary& function);

/// y = activation(sums + bias) + residual; NaN is kept. bias has 32 numbers. Returns false if a sum in any of the 32
/// columns is infinite or NaN.
bool store_epilogue(const float* sums, const float* bias, TileActivation activation, const TileOutput& out);

/// sums = sums + bias, for `rows` rows.
void add_bias(float* sums, const float* bias, std::int64_t rows);

}  // namespace attn::backends::cpu
