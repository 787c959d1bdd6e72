#include "online_softmax.h"

#include <algorithm>
#include <limits>

#include "vector.h"

namespace attn::backends::onednn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

[[gnu::always_inline]] inline void larger(const Lanes& a, Lanes& b) { b = a > b ? a : b; }

/// The largest of each row, passing over NaN.
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

/// Of up to 16 rows.
[[gnu::always_inline]] inline void soften_rows(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys,
                                               float factor, const RunningRows& running) {
  Lanes before, sums;
  load(running.maxima, before);
  load(running.sums, sums);
  Lanes maxima = before;
  maxima_of(scores, stride, rows, keys, maxima);
  // Where all so far are −∞, any finite number gives them the weight 0.
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
    for (std::int64_t i = 0; i < keys; i += kLanes) {
      Lanes x;
      load(scores + r * stride + i, x);
      exp2_below_0(factor * (x - references[r]), x);
      store(x, scores + r * stride + i);
      parts[r] += x;
    }
  }
  transpose(parts);
  sums *= shrinks;
  for (int lane = 0; lane < kLanes; ++lane) sums += parts[lane];
  store(maxima, running.maxima);
  store(sums, running.sums);
  store(shrinks, running.shrinks);
}

ATTN_VECTORIZED(void, soften_all, float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys,
                float factor, const RunningRows& running) {
  for (std::int64_t r = 0; r < rows; r += kLanes) {
    float* const block = scores + r * stride;
    const std::int64_t count = std::min<std::int64_t>(kLanes, rows - r);
    // Lanes behind the last key weigh nothing.
    const std::int64_t across = kept_rows(keys);
    for (std::int64_t i = 0; across != keys && i < count; ++i)
      std::fill(block + i * stride + keys, block + i * stride + across, -kInfinity);
    soften_rows(block, stride, count, across, factor, {running.maxima + r, running.sums + r, running.shrinks + r});
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

}  // namespace attn::backends::onednn
