// Loops that the compiler vectorises: per instruction set, 16 floats at a time, and the functions of one float that
// such loops are made of.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "isa.h"

// ATTN_VECTORIZED(void, scale, float* x, float factor, std::int64_t size) { … } defines scale(x, factor, size),
// compiled for each of the instruction sets and run in the one that isa() says. What it calls must be inlined into it
// to profit.
#define ATTN_VECTORIZED(Result, name, ...)                                       \
  [[gnu::always_inline]] inline Result name##_loop(__VA_ARGS__);                 \
  constexpr auto& name = ::attn::backends::onednn::Vectorized<name##_loop>::run; \
  [[gnu::always_inline]] inline Result name##_loop(__VA_ARGS__)

namespace attn::backends::onednn {

template <auto kLoop>
struct Vectorized;

template <typename Result, typename... Args, Result (*kLoop)(Args...)>
struct Vectorized<kLoop> {
  static Result run(Args... args) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (isa() >= Isa::avx512) return run_avx512(args...);
    if (isa() == Isa::avx2) return run_avx2(args...);
#endif
    return kLoop(args...);
  }

#if defined(__x86_64__) && defined(__GNUC__)
 private:
  [[gnu::target("arch=x86-64-v4")]] static Result run_avx512(Args... args) { return kLoop(args...); }
  [[gnu::target("arch=x86-64-v3")]] static Result run_avx2(Args... args) { return kLoop(args...); }
#endif
};

/// One AVX-512 register, two of AVX2, four of SSE.
inline constexpr int kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

[[gnu::always_inline]] inline void load(const float* from, Lanes& to) { std::memcpy(&to, from, sizeof to); }
[[gnu::always_inline]] inline void store(const Lanes& from, float* to) { std::memcpy(to, &from, sizeof from); }

/// Σ x
[[gnu::always_inline]] inline float sum_of(const float* x, std::int64_t size) {
  Lanes sums{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Lanes part;
    load(x + i, part);
    sums += part;
  }
  float sum = 0.0F;
  for (; i < size; ++i) sum += x[i];
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

/// The largest number, passing over NaN; -inf for none.
[[gnu::always_inline]] inline float max_of(const float* x, std::int64_t size) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Lanes largest = Lanes{} + kLowest;
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    Lanes part;
    load(x + i, part);
    largest = part > largest ? part : largest;
  }
  float result = kLowest;
  for (; i < size; ++i) result = x[i] > result ? x[i] : result;
  for (int lane = 0; lane < kLanes; ++lane) result = largest[lane] > result ? largest[lane] : result;
  return result;
}

/// eʳ − 1 for |r| ≤ ln 2 / 2, by the polynomial of Cephes' expf.
[[gnu::always_inline]] inline float expm1_near_0(float r) {
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return p * r * r + r;
}

/// eˣ to about 1 ulp: 2ᵏ·eʳ with |r| ≤ ln 2 / 2, and ln 2 in two parts so that r is exact.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kOverflow = 88.7228394F, kUnderflow = -87.3365479F;
  const float k = std::nearbyint(x * 1.44269504F);
  float r = x - k * 0.693359375F;
  r = r + k * 2.12194440e-4F;
  const float p = expm1_near_0(r) + 1.0F;
  // 2ᵏ from its bits, in two halves because k may be 128 where the result is still finite.
  const float clamped = k < -126.0F ? -126.0F : k > 128.0F ? 128.0F : k;
  const int exponent = clamped == clamped ? static_cast<int>(clamped) : 0;
  const int half = exponent / 2;
  float y = p * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((exponent - half + 127) << 23);
  y = x < kUnderflow ? 0.0F : y;
  y = x > kOverflow ? std::numeric_limits<float>::infinity() : y;
  return x != x ? x : y;
}

/// eˣ for x ≤ 0, as a softmax needs it; NaN stays.
[[gnu::always_inline]] inline float exp_below_0(float x) {
  constexpr float kUnderflow = -87.3365479F;
  const float k = std::nearbyint(x * 1.44269504F);
  float r = x - k * 0.693359375F;
  r = r + k * 2.12194440e-4F;
  const float p = expm1_near_0(r) + 1.0F;
  const float clamped = k < -126.0F ? -126.0F : k;
  const int exponent = clamped == clamped ? static_cast<int>(clamped) : 0;
  const float y = p * std::bit_cast<float>((exponent + 127) << 23);
  return x < kUnderflow ? 0.0F : y;
}

/// 2ˣ for x ≤ 0 to about 1 ulp; NaN stays. The polynomial is the minimax one of 2ʳ for |r| ≤ 1/2, which is 1 at 0; its
/// relative error is 2e-9.
[[gnu::always_inline]] inline float exp2_below_0(float x) {
  const float k = std::nearbyint(x);
  const float r = x - k;
  float p = 1.535336193e-4F;
  p = p * r + 1.339887441e-3F;
  p = p * r + 9.618437358e-3F;
  p = p * r + 5.550332471e-2F;
  p = p * r + 2.402264791e-1F;
  p = p * r + 6.931472029e-1F;
  p = p * r + 1.0F;
  const float clamped = k < -126.0F ? -126.0F : k;
  const int exponent = clamped == clamped ? static_cast<int>(clamped) : 0;
  const float y = p * std::bit_cast<float>((exponent + 127) << 23);
  return x < -126.0F ? 0.0F : y;
}

/// eˣ − 1, exact near 0.
[[gnu::always_inline]] inline float expm1_of(float x) {
  return std::abs(x) < 0.3465736F ? expm1_near_0(x) : exp_of(x) - 1.0F;
}

/// x·Φ(x) with erfc(z) = e^(−z²)·t·P(t), t = 1/(1 + 0.43z): the polynomial is the minimax one of its degree for z up to
/// 9.5, beyond which the result is ±0 or x; its relative error is 9e-8.
[[gnu::always_inline]] inline float gelu_of(float x) {
  const float z = std::abs(x) * 0.707106781F;
  const float t = 1.0F / (1.0F + 0.43F * z);
  float p = 0.0737079009F;
  p = p * t - 0.310373276F;
  p = p * t + 0.383705527F;
  p = p * t - 0.0857256204F;
  p = p * t + 0.246844381F;
  p = p * t + 0.204951122F;
  p = p * t + 0.244375437F;
  p = p * t + 0.24251461F;
  const float tail = p * t * exp_of(-z * z);  // erfc(z)
  return 0.5F * x * (x < 0.0F ? tail : 2.0F - tail);
}

[[gnu::always_inline]] inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

/// tanh: near 0 the odd polynomial of Cephes' tanhf, else 1 − 2/(e²ˣ + 1).
[[gnu::always_inline]] inline float tanh_of(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float small = p * z * x + x;
  const float large = 1.0F - 2.0F / (exp_of(2.0F * x) + 1.0F);
  return std::abs(x) < 0.625F ? small : large;
}

}  // namespace attn::backends::onednn
