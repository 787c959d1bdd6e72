#include "tile_output.h"

#include "amx_pack.h"
#include "vector.h"

namespace attn::backends::onednn {
namespace {

/// 0·x, which is NaN for NaN and ±∞, added up.
[[gnu::always_inline]] inline void test(const Lanes& x, Lanes& zeros) { zeros += 0.0F * x; }
[[gnu::always_inline]] inline bool are_zeros(const Lanes& zeros) { return !any_of(zeros != Lanes{}); }

template <typename Number, bool kRelu, bool kResidual>
[[gnu::always_inline]] inline bool write_rows(const float* sums, const float* bias, const TileOutput& out) {
  auto* y = reinterpret_cast<Number*>(out.y);
  const auto* residual = reinterpret_cast<const Number*>(out.residual);
  Lanes zeros{}, shift[2];
  for (std::int64_t v = 0; v < 2; ++v) load(bias + v * kLanes, shift[v]);
  for (std::int64_t i = 0; i < out.rows; ++i, sums += kTileBlock, y += out.stride) {
    Lanes x[2];
    for (std::int64_t v = 0; v < 2; ++v) {
      load(sums + v * kLanes, x[v]);
      test(x[v], zeros);
      x[v] += shift[v];
      if (kRelu) x[v] = x[v] < Lanes{} ? Lanes{} : x[v];
      if (!kResidual || v * kLanes >= out.width) continue;
      Lanes other;
      load_some(residual + v * kLanes, out.width - v * kLanes, other);
      x[v] += other;
    }
    if (kResidual) residual += out.stride;
    if (out.width == kTileBlock) {
      // A NaN here comes from numbers of this type: a bfloat16's has no lower bits.
      store(x[0], x[1], y);
      continue;
    }
    for (std::int64_t v = 0; v < 2 && v * kLanes < out.width; ++v)
      store_some(x[v], out.width - v * kLanes, y + v * kLanes);
  }
  return are_zeros(zeros);
}

template <typename Number>
[[gnu::always_inline]] inline bool write_numbers(const float* sums, const float* bias, bool relu,
                                                 const TileOutput& out) {
  if (out.residual != nullptr)
    return relu ? write_rows<Number, true, true>(sums, bias, out) : write_rows<Number, false, true>(sums, bias, out);
  return relu ? write_rows<Number, true, false>(sums, bias, out) : write_rows<Number, false, false>(sums, bias, out);
}

ATTN_VECTORIZED(bool, write_all, const float* sums, const float* bias, bool relu, const TileOutput& out) {
  return out.dtype == DType::float32 ? write_numbers<float>(sums, bias, relu, out)
                                     : write_numbers<std::uint16_t>(sums, bias, relu, out);
}

ATTN_VECTORIZED(bool, test_rows, const float* sums, std::int64_t rows) {
  Lanes zeros{}, x;
  for (std::int64_t i = 0; i < rows * kTileBlock; i += kLanes) {
    load(sums + i, x);
    test(x, zeros);
  }
  return are_zeros(zeros);
}

ATTN_VECTORIZED(void, add_row, float* sums, const float* bias, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < kTileBlock; ++j) sums[i * kTileBlock + j] += bias[j];
}

}  // namespace

bool write_out(const float* sums, const float* bias, bool relu, const TileOutput& out) {
  return write_all(sums, bias, relu, out);
}
bool is_finite(const float* sums, std::int64_t rows) { return test_rows(sums, rows); }
void add_bias(float* sums, const float* bias, std::int64_t rows) { add_row(sums, bias, rows); }

}  // namespace attn::backends::onednn
