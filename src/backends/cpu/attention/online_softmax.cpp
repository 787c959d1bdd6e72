#include "online_softmax.h"

#include <algorithm>
#include <limits>

#include "gemm/amx_pack.h"
#include "gemm/tile_parts.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

[[gnu::always_inline]] inline void larger(const Lanes& a, Lanes& b) { b = a > b ? a : b; }

/// Computes the maximum of each row, ignoring NaN.
[[gnu::always_inline]] inline void maxima_of(const float* scores, std::int64_t stride, std::int64_t rows,
                                             std::int64_t keys, Lanes& maxima) {
  Lanes parts[kLanes];
  for (std::int64_t r = 0; r < kLanes; ++r) {
    parts[r] = Lanes{} - kInfinity;
    if (r >= rows) continue;
    for (std::int64_t i = 0; i < keys; i += kLanes) {
      Lanes x;
      load(scores + r * stride + i, x);
      larger(x, parts[r]);
    }
  }
  transpose(parts);
  for (int lane = 0; lane < kLanes; ++lane) larger(parts[lane], maxima);
}

/// Stores 32 results of a row: as float32 in place, or split into parts of an x block.
template <int kParts>
struct Sink {
  Bfloat16* weights;

  [[gnu::always_inline]] void store_pair(const Lanes& first, const Lanes& second, float* scores, std::int64_t row,
                                         std::int64_t i) const {
    if constexpr (kParts == 0) {
      store(first, scores);
      store(second, scores + kLanes);
    } else {
      Bfloat16* const to =
          weights + row / kTileRows * kTileNumbers + row % kTileRows * kTileDepth + i / kTileDepth * kParts * kTilePart;
      Lanes a = first, b = second;
      for (int part = 0; part < kParts; ++part) take_nearest(a, b, to + part * kTilePart);
    }
  }
};

/// Processes up to 16 rows from `first` on. `keys` is a multiple of 32; without parts, of 16.
template <int kParts, int kDegree>
[[gnu::always_inline]] inline void soften_rows(float* scores, std::int64_t stride, std::int64_t first,
                                               std::int64_t rows, std::int64_t keys, float factor,
                                               const RunningRows& running, const Sink<kParts>& sink) {
  Lanes before, sums;
  load(running.maxima, before);
  load(running.sums, sums);
  Lanes maxima = before;
  maxima_of(scores, stride, rows, keys, maxima);
  // While all scores are −∞, any finite reference value gives them weight 0.
  const Lanes reference = maxima == -kInfinity ? Lanes{} : maxima;
  Lanes shrinks;
  exp2_below_0(factor * (before - reference), shrinks);
  shrinks = before == maxima ? Lanes{} + 1.0F : shrinks;
  float references[kLanes];
  store(reference, references);
  Lanes parts[kLanes];
  for (std::int64_t r = 0; r < kLanes; ++r) {
    parts[r] = Lanes{};
    if (r >= rows) continue;
    Lanes other{};
    std::int64_t i = 0;
    for (; i + kTileDepth <= keys; i += kTileDepth) {
      Lanes x, y;
      load(scores + r * stride + i, x);
      load(scores + r * stride + i + kLanes, y);
      exp2_below_0<kDegree>(factor * (x - references[r]), x);
      exp2_below_0<kDegree>(factor * (y - references[r]), y);
      parts[r] += x;
      other += y;
      sink.store_pair(x, y, scores + r * stride + i, first + r, i);
    }
    if constexpr (kParts == 0) {
      if (i < keys) {
        float* const last = scores + r * stride + i;
        Lanes x;
        load(last, x);
        exp2_below_0<kDegree>(factor * (x - references[r]), x);
        parts[r] += x;
        store(x, last);
      }
    }
    parts[r] += other;
  }
  transpose(parts);
  sums *= shrinks;
  for (int lane = 0; lane < kLanes; ++lane) sums += parts[lane];
  store(maxima, running.maxima);
  store(sums, running.sums);
  store(shrinks, running.shrinks);
}

template <int kParts, int kDegree>
[[gnu::always_inline]] inline void soften_blocks(float* scores, std::int64_t stride, std::int64_t rows,
                                                 std::int64_t keys, float factor, const RunningRows& running,
                                                 const Sink<kParts>& sink) {
  constexpr std::int64_t kUnit = kParts == 0 ? kLanes : kTileDepth;
  const std::int64_t across = (keys + kUnit - 1) / kUnit * kUnit;
  for (std::int64_t r = 0; r < rows; r += kLanes) {
    float* const block = scores + r * stride;
    const std::int64_t count = std::min<std::int64_t>(kLanes, rows - r);
    // Columns after the last key get the score −∞, and so weight 0.
    for (std::int64_t i = 0; across != keys && i < count; ++i)
      std::fill(block + i * stride + keys, block + i * stride + across, -kInfinity);
    soften_rows<kParts, kDegree>(block, stride, r, count, across, factor,
                                 {running.maxima + r, running.sums + r, running.shrinks + r}, sink);
  }
}

ATTN_VECTORIZED(void, soften_all, float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys,
                float factor, const RunningRows& running) {
  soften_blocks<0, 6>(scores, stride, rows, keys, factor, running, Sink<0>{nullptr});
}

ATTN_VECTORIZED(void, soften_into_parts, float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys,
                float factor, const RunningRows& running, int parts, Bfloat16* weights) {
  switch (parts) {
    case 1:
      return soften_blocks<1, 4>(scores, stride, rows, keys, factor, running, Sink<1>{weights});
    case 2:
      return soften_blocks<2, 5>(scores, stride, rows, keys, factor, running, Sink<2>{weights});
    default:
      return soften_blocks<3, 6>(scores, stride, rows, keys, factor, running, Sink<3>{weights});
  }
}

}  // namespace

void begin_rows(const RunningRows& running, std::int64_t rows) {
  std::fill_n(running.maxima, kept_rows(rows), -kInfinity);
  std::fill_n(running.sums, kept_rows(rows), 0.0F);
}

void soften(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
            const RunningRows& running) {
  soften_all(scores, stride, rows, keys, factor, running);
}

void soften_into_tiles(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
                       const RunningRows& running, int parts, Bfloat16* weights) {
  soften_into_parts(scores, stride, rows, keys, factor, running, parts, weights);
}

}  // namespace attn::backends::cpu
