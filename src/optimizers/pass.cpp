#include "pass.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/base/clones.h"
#include "rules.h"

namespace attn::optimizers {
namespace {

/// Elements at a time: what a rule reads and writes of them stays in the first-level cache.
constexpr std::int64_t kChunk = 1024;

ATTN_CLONES void multiply(const float* from, float factor, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
}

ATTN_CLONES void square(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * from[i];
}

ATTN_CLONES void lose(float share, std::int64_t count, float* v) {
  for (std::int64_t i = 0; i < count; ++i) v[i] -= v[i] * share;
}

/// `count` elements from `first` on; `g` and `q` have room for what becomes of the gradient.
bool run_chunk(const Pass& pass, const Visit& visit, std::int64_t first, std::int64_t count, float* g, float* q) {
  Step step = visit.step;
  step.size = count;
  step.v += first;
  step.g += first;
  if (step.q != nullptr) step.q += first;
  if (step.a != nullptr) step.a += first;
  for (float*& slot : step.s)
    if (slot != nullptr) slot += first;
  const float factor = visit.factor;
  if (factor != 1.0F) {
    multiply(step.g, factor, count, g);
    step.g = g;
    if (step.q != nullptr) {
      multiply(step.q, factor * factor, count, q);
      step.q = q;
    }
  }
  bool clipped = false;
  if (pass.limit && step.q == nullptr) {
    const float limit = *pass.limit;
    for (std::int64_t i = 0; i < count; ++i) {
      clipped = clipped || std::abs(step.g[i]) > limit;
      g[i] = std::clamp(step.g[i], -limit, limit);
    }
    step.g = g;
  }
  if (visit.decay != 0.0F) lose(visit.decay, count, step.v);
  if (step.q == nullptr && is_elementwise(*pass.rule)) {
    square(step.g, count, q);
    step.q = q;
  }
  update(*pass.rule, step);
  if (visit.average != nullptr) follow(pass, step.v, visit.average + first, count);
  if (visit.accumulator != nullptr) std::fill_n(visit.accumulator + first, count, 0.0F);
  return clipped;
}

}  // namespace

ATTN_CLONES void follow(const Pass& pass, float* v, float* average, std::int64_t count) {
  const float momentum = pass.momentum;
  for (std::int64_t i = 0; i < count; ++i) average[i] = momentum * average[i] + (1.0F - momentum) * v[i];
  if (pass.overwrites) std::copy_n(average, count, v);
}

bool run(const Pass& pass, const Visit& visit, std::int64_t begin, std::int64_t end) {
  if (!is_elementwise(*pass.rule)) {
    const auto size = static_cast<std::size_t>(visit.step.size);
    std::vector<float> g(size), q(visit.step.q != nullptr ? size : 0);
    return run_chunk(pass, visit, begin, end - begin, g.data(), q.data());
  }
  float g[kChunk], q[kChunk];
  bool clipped = false;
  for (std::int64_t i = begin; i < end; i += kChunk)
    clipped = run_chunk(pass, visit, i, std::min(kChunk, end - i), g, q) || clipped;
  return clipped;
}

}  // namespace attn::optimizers
