#include "loops.h"

#include "vector.h"

namespace attn::backends::cpu {
namespace {

ATTN_VECTORIZED(void, add_all, float* y, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] += x[i];
}

ATTN_VECTORIZED(void, scale_all, const float* x, float factor, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = factor * x[i];
}

ATTN_VECTORIZED(void, cap_all, float* x, float scale, float cap, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = cap * tanh_of(scale * x[i] / cap);
}

ATTN_VECTORIZED(void, hide_all, float* x, const std::uint8_t* seen, float hidden, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = seen[i] != 0 ? x[i] : hidden;
}

ATTN_VECTORIZED(bool, are_finite, const float* x, std::int64_t size) {
  Lanes zeros{};  // Σ 0·x, which is NaN if x has a NaN or an infinity
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes part;
    load(x + i, part);
    zeros += 0.0F * part;
  }
  return !any_of(zeros != Lanes{});
}

}  // namespace

void add_to(float* y, const float* x, std::int64_t size) { add_all(y, x, size); }
void scale_row(const float* x, float factor, float* y, std::int64_t size) { scale_all(x, factor, y, size); }
void cap_row(float* x, float scale, float cap, std::int64_t size) {
  if (cap > 0.0F) {
    cap_all(x, scale, cap, size);
  } else {
    scale_all(x, scale, x, size);
  }
}
void hide(float* x, const std::uint8_t* seen, float hidden, std::int64_t size) { hide_all(x, seen, hidden, size); }
bool is_finite(const float* x, std::int64_t size) { return are_finite(x, size); }
void clear_hidden(float* x, const std::uint8_t* seen, std::int64_t size) { hide_all(x, seen, 0.0F, size); }

}  // namespace attn::backends::cpu
