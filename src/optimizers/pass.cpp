#include "pass.h"

#include <algorithm>
#include <vector>

#include "attn/base/clones.h"
#include "muon.h"
#include "number.h"
#include "rules.h"

namespace attn::optimizers {
namespace {

/// The number of elements of one chunk. All arrays that a rule reads and writes for a chunk fit into the L1 cache.
constexpr std::int64_t kChunk = 1024;

template <typename T>
void multiply(const T* from, T factor, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
}
ATTN_CLONES void multiply(const float* from, float factor, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
}

template <typename T>
void square(const T* from, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * from[i];
}
ATTN_CLONES void square(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * from[i];
}

template <typename T>
void lose(const Decay& decay, std::int64_t count, T* v) {
  const T factor = cast_to<T>(decay.factor), rate = T(decay.rate);
  for (std::int64_t i = 0; i < count; ++i) v[i] -= v[i] * factor * rate;
}
ATTN_CLONES void lose(const Decay& decay, std::int64_t count, float* v) {
  const float share = static_cast<float>(decay.factor) * static_cast<float>(decay.rate);
  for (std::int64_t i = 0; i < count; ++i) v[i] -= v[i] * share;
}

template <typename T>
[[gnu::always_inline]] inline void average_of(T momentum, const T* v, T* average, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) average[i] = momentum * average[i] + (T(1.0F) - momentum) * v[i];
}
template <typename T>
void mix(T momentum, const T* v, T* average, std::int64_t count) {
  average_of(momentum, v, average, count);
}
ATTN_CLONES void mix(float momentum, const float* v, float* average, std::int64_t count) {
  average_of(momentum, v, average, count);
}

/// Scales and clips the gradient of a step; the result is written to `g` and `q` if it differs from the original.
/// Returns whether an element exceeded the limit.
template <typename T>
bool fit_gradient(const Pass& pass, T factor, Step<T>& step, T* g, T* q) {
  const std::int64_t count = step.size;
  if (!(factor == T(1.0F))) {
    multiply(step.g, factor, count, g);
    step.g = g;
    if (step.q != nullptr) {
      multiply(step.q, factor * factor, count, q);
      step.q = q;
    }
  }
  if (!pass.limit || step.q != nullptr) return false;
  bool clipped = false;
  const T limit = T(*pass.limit);
  for (std::int64_t i = 0; i < count; ++i) {
    const T x = step.g[i];
    clipped = clipped || magnitude(x) > limit;
    g[i] = x > limit ? limit : x < -limit ? -limit : x;
  }
  step.g = g;
  return clipped;
}

/// Updates `count` elements from `first` on. `g` and `q` are workspace for the scaled gradient.
template <typename T>
bool run_chunk(const Pass& pass, const Visit<T>& visit, std::int64_t first, std::int64_t count, T* g, T* q) {
  Step<T> step = visit.step;
  step.size = count;
  step.v += first;
  step.g += first;
  if (step.q != nullptr) step.q += first;
  if (step.a != nullptr) step.a += first;
  for (T*& slot : step.s)
    if (slot != nullptr) slot += first;
  const bool clipped = fit_gradient(pass, visit.factor, step, g, q);
  if (visit.decay) lose(*visit.decay, count, step.v);
  if (step.q == nullptr && is_elementwise(*pass.rule)) {
    square(step.g, count, q);
    step.q = q;
  }
  update(*pass.rule, step);
  if (visit.average != nullptr) follow(pass, step.v, visit.average + first, count);
  if (visit.accumulator != nullptr) std::fill_n(visit.accumulator + first, count, T(0.0F));
  return clipped;
}

}  // namespace

template <typename T>
void follow(const Pass& pass, T* v, T* average, std::int64_t count) {
  mix(T(pass.momentum), v, average, count);
  if (pass.overwrites) std::copy_n(average, count, v);
}

template <typename T>
bool run(const Pass& pass, const Visit<T>& visit, std::int64_t begin, std::int64_t end) {
  if (!is_elementwise(*pass.rule)) {
    const auto size = static_cast<std::size_t>(visit.step.size);
    std::vector<T> g(size), q(visit.step.q != nullptr ? size : 0);
    return run_chunk(pass, visit, begin, end - begin, g.data(), q.data());
  }
  T g[kChunk], q[kChunk];
  bool clipped = false;
  for (std::int64_t i = begin; i < end; i += kChunk)
    clipped = run_chunk(pass, visit, i, std::min(kChunk, end - i), g, q) || clipped;
  return clipped;
}

template <typename T>
void find_direction(const Pass& pass, const Visit<T>& visit, T* direction) {
  Step<T> step = visit.step;
  const auto size = static_cast<std::size_t>(step.size);
  std::vector<T> g(size), q(step.q != nullptr ? size : 0);
  (void)fit_gradient(pass, visit.factor, step, g.data(), q.data());
  muon_direction(std::get<Muon>(*pass.rule), step, direction);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be parenthesized.
#define ATTN_DEFINE(T)                                            \
  template void follow(const Pass&, T*, T*, std::int64_t);        \
  template void find_direction(const Pass&, const Visit<T>&, T*); \
  template bool run(const Pass&, const Visit<T>&, std::int64_t, std::int64_t);
// NOLINTEND(bugprone-macro-parentheses)
ATTN_DEFINE(float)
ATTN_DEFINE(double)
ATTN_DEFINE(Float16)
ATTN_DEFINE(BFloat16)
#undef ATTN_DEFINE

}  // namespace attn::optimizers
