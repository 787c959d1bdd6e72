#include "tile_output.h"

#include "amx_pack.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

template <TileActivation kActivation>
[[gnu::always_inline]] inline void activate(Lanes& x) {
  if constexpr (kActivation == TileActivation::relu) {
    x = x < Lanes{} ? Lanes{} : x;
  } else if constexpr (kActivation == TileActivation::gelu) {
    gelu_of(x, x);
  } else if constexpr (kActivation == TileActivation::gelu_tanh) {
    gelu_tanh_of(x, x);
  }
}

template <typename Number, TileActivation kActivation, bool kResidual>
[[gnu::always_inline]] inline bool write_rows(const float* sums, const float* bias, const TileOutput& out) {
  auto* y = static_cast<Number*>(out.y);
  const auto* residual = static_cast<const Number*>(out.residual);
  Lanes zeros{}, shift[2];  // Σ 0·x, which is NaN if x has a NaN or an infinity
  for (std::int64_t v = 0; v < 2; ++v) load(bias + v * kLanes, shift[v]);
  for (std::int64_t i = 0; i < out.rows; ++i, sums += kTileBlock, y += out.stride) {
    Lanes x[2];
    for (std::int64_t v = 0; v < 2; ++v) {
      load(sums + v * kLanes, x[v]);
      zeros += 0.0F * x[v];
      x[v] += shift[v];
      activate<kActivation>(x[v]);
      if (!kResidual || v * kLanes >= out.width) continue;
      Lanes other;
      load_some(residual + v * kLanes, out.width - v * kLanes, other);
      x[v] += other;
    }
    if (kResidual) residual += out.stride;
    if (out.width == kTileBlock) {
      // A NaN here was computed from bfloat16 numbers, so it has no bits in its lower half.
      store(x[0], x[1], y);
      continue;
    }
    for (std::int64_t v = 0; v < 2 && v * kLanes < out.width; ++v)
      store_some(x[v], out.width - v * kLanes, y + v * kLanes);
  }
  return !any_of(zeros != Lanes{});
}

template <TileActivation kActivation>
[[gnu::always_inline]] inline bool write_block(const float* sums, const float* bias, const TileOutput& out) {
  const bool adds = out.residual != nullptr;
  if (out.dtype == DType::float32)
    return adds ? write_rows<float, kActivation, true>(sums, bias, out)
                : write_rows<float, kActivation, false>(sums, bias, out);
  return adds ? write_rows<std::uint16_t, kActivation, true>(sums, bias, out)
              : write_rows<std::uint16_t, kActivation, false>(sums, bias, out);
}

ATTN_VECTORIZED(bool, write_plain, const float* sums, const float* bias, const TileOutput& out) {
  return write_block<TileActivation::none>(sums, bias, out);
}
ATTN_VECTORIZED(bool, write_relu, const float* sums, const float* bias, const TileOutput& out) {
  return write_block<TileActivation::relu>(sums, bias, out);
}
ATTN_VECTORIZED(bool, write_gelu, const float* sums, const float* bias, const TileOutput& out) {
  return write_block<TileActivation::gelu>(sums, bias, out);
}
ATTN_VECTORIZED(bool, write_gelu_tanh, const float* sums, const float* bias, const TileOutput& out) {
  return write_block<TileActivation::gelu_tanh>(sums, bias, out);
}

ATTN_VECTORIZED(void, add_row, float* sums, const float* bias, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < kTileBlock; ++j) sums[i * kTileBlock + j] += bias[j];
}

}  // namespace

TileActivation tile_activation(const graph::Unary& function) {
  if (is_plain_relu(function)) return TileActivation::relu;
  switch (function.fn) {
    case graph::UnaryFn::linear:
      return TileActivation::none;
    case graph::UnaryFn::gelu:
      return TileActivation::gelu;
    case graph::UnaryFn::gelu_tanh:
      return TileActivation::gelu_tanh;
    default:
      return TileActivation::other;
  }
}

bool store_epilogue(const float* sums, const float* bias, TileActivation activation, const TileOutput& out) {
  switch (activation) {
    case TileActivation::relu:
      return write_relu(sums, bias, out);
    case TileActivation::gelu:
      return write_gelu(sums, bias, out);
    case TileActivation::gelu_tanh:
      return write_gelu_tanh(sums, bias, out);
    default:
      return write_plain(sums, bias, out);
  }
}

void add_bias(float* sums, const float* bias, std::int64_t rows) { add_row(sums, bias, rows); }

}  // namespace attn::backends::cpu
