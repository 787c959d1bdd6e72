// Vectorized loops, compiled for each instruction set, 16 floats at a time; and their building blocks.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "isa.h"

// ATTN_VECTORIZED(void, scale, float* x, float factor, std::int64_t size) { … } defines scale(x, factor,
// size), compiled for each instruction set and dispatched by isa(). Callees benefit only if they are
// inlined.
#define ATTN_VECTORIZED(Result, name, ...)                                    \
  [[gnu::always_inline]] inline Result name##_loop(__VA_ARGS__);              \
  constexpr auto& name = ::attn::backends::cpu::Vectorized<name##_loop>::run; \
  [[gnu::always_inline]] inline Result name##_loop(__VA_ARGS__)

namespace attn::backends::cpu {

template <auto kLoop>
struct Vectorized;

template <typename Result, typename... Args, Result (*kLoop)(Args...)>
struct Vectorized<kLoop> {
  static Result run(Args... args) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (isa() >= Isa::avx512) return run_avx512(args...);
    if (isa() >= Isa::avx2) return run_avx2(args...);
#endif
    return kLoop(args...);
  }

#if defined(__x86_64__) && defined(__GNUC__)
 private:
  [[gnu::target("arch=x86-64-v4")]] static Result run_avx512(Args... args) { return kLoop(args...); }
  [[gnu::target("arch=x86-64-v3")]] static Result run_avx2(Args... args) { return kLoop(args...); }
#endif
};

/// Floats per vector: one register of AVX-512, two of AVX2, four of SSE.
inline constexpr int kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = int __attribute__((vector_size(kLanes * sizeof(int))));

[[gnu::always_inline]] inline void load(const float* from, Lanes& to) { std::memcpy(&to, from, sizeof to); }
[[gnu::always_inline]] inline void store(const Lanes& from, float* to) { std::memcpy(to, &from, sizeof from); }

using Halves = std::uint16_t __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));

/// Loads 16 bfloat16 numbers.
[[gnu::always_inline]] inline void load(const std::uint16_t* from, Lanes& to) {
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  to = reinterpret_cast<Lanes>(__builtin_convertvector(halves, Integers) << 16);
}

/// The bits of a float16 number; a type of its own, because loops take bfloat16 as std::uint16_t.
enum class Float16 : std::uint16_t {};

/// Converts the bits of 16 float16 numbers to floats.
[[gnu::always_inline]] inline void numbers_of_float16(const Integers& bits, Lanes& to) {
  constexpr int kBiases = (127 - 15) << 23;
  const Integers magnitude = bits & 0x7FFF;
  // Above 0.5, float32 numbers are 2^-24 apart, like subnormal float16 numbers.
  const Lanes subnormal = reinterpret_cast<Lanes>(magnitude + std::bit_cast<int>(0.5F)) - 0.5F;
  const Integers other = (magnitude << 13) + (magnitude < 0x7C00 ? Integers{} + kBiases : Integers{} + 2 * kBiases);
  to = reinterpret_cast<Lanes>(((bits & 0x8000) << 16) |
                               (magnitude < 0x400 ? reinterpret_cast<Integers>(subnormal) : other));
}

/// Loads 16 float16 numbers.
[[gnu::always_inline]] inline void load(const Float16* from, Lanes& to) {
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  numbers_of_float16(__builtin_convertvector(halves, Integers), to);
}

/// Stores numbers as bfloat16, rounded to nearest with ties to even; NaN stays NaN.
[[gnu::always_inline]] inline void store(const Lanes& from, std::uint16_t* to) {
  const auto bits = reinterpret_cast<Integers>(from);
  const Integers rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  const Integers number = from != from ? bits | 0x400000 : rounded;
  const Halves halves = __builtin_convertvector(number >> 16, Halves);
  std::memcpy(to, &halves, sizeof halves);
}

/// The bits of 32 bfloat16 numbers.
using Words = std::uint16_t __attribute__((vector_size(2 * kLanes * sizeof(std::uint16_t))));

/// Stores the upper 16 bits of the numbers of two vectors.
template <int... kIndex>
[[gnu::always_inline]] inline void store_upper(const Integers& a, const Integers& b, std::uint16_t* to,
                                               std::integer_sequence<int, kIndex...>) {
  const Words words =
      __builtin_shufflevector(reinterpret_cast<Words>(a), reinterpret_cast<Words>(b), (2 * kIndex + 1)...);
  std::memcpy(to, &words, sizeof words);
}
[[gnu::always_inline]] inline void store_upper(const Integers& a, const Integers& b, std::uint16_t* to) {
  store_upper(a, b, to, std::make_integer_sequence<int, 2 * kLanes>());
}

/// Stores 32 numbers.
[[gnu::always_inline]] inline void store(const Lanes& a, const Lanes& b, float* to) {
  store(a, to);
  store(b, to + kLanes);
}
/// Stores 32 numbers as bfloat16, rounded to nearest with ties to even. A NaN with bits in its lower half may
/// become a number.
[[gnu::always_inline]] inline void store(const Lanes& a, const Lanes& b, std::uint16_t* to) {
  const auto first = reinterpret_cast<Integers>(a), second = reinterpret_cast<Integers>(b);
  store_upper(first + 0x7FFF + ((first >> 16) & 1), second + 0x7FFF + ((second >> 16) & 1), to);
}

/// Lane i of the result is lane kFrom[i] of the concatenation of a and b.
template <int... kFrom>
[[gnu::always_inline]] inline void shuffle(const Lanes& a, const Lanes& b, Lanes& to) {
  to = __builtin_shufflevector(a, b, kFrom...);
}

/// Returns whether any lane of a comparison is true.
[[gnu::always_inline]] inline bool any_of(const Integers& is) {
  int any = 0;
  for (int lane = 0; lane < kLanes; ++lane) any |= is[lane];
  return any != 0;
}

/// Returns the sum of all lanes, by halving.
[[gnu::always_inline]] inline float sum_of_lanes(const Lanes& x) {
  Lanes sum = x, other;
  shuffle<8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7>(sum, sum, other);
  sum += other;
  shuffle<4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11>(sum, sum, other);
  sum += other;
  shuffle<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(sum, sum, other);
  sum += other;
  return sum[0] + sum[1];
}

/// Returns the maximum of all lanes, none of which may be NaN.
[[gnu::always_inline]] inline float max_of_lanes(const Lanes& x) {
  Lanes largest = x, other;
  shuffle<8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7>(largest, largest, other);
  largest = other > largest ? other : largest;
  shuffle<4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11>(largest, largest, other);
  largest = other > largest ? other : largest;
  shuffle<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(largest, largest, other);
  largest = other > largest ? other : largest;
  return largest[1] > largest[0] ? largest[1] : largest[0];
}

/// Swaps the (kStep, kStep) blocks of rows i and i + kStep that are across the diagonal.
template <int kStep, int... kLane>
[[gnu::always_inline]] inline void exchange(Lanes* rows, std::integer_sequence<int, kLane...>) {
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kStep) != 0) continue;
    Lanes& a = rows[i];
    Lanes& b = rows[i + kStep];
    Lanes left, right;
    shuffle<((kLane & kStep) != 0 ? kLanes + kLane - kStep : kLane)...>(a, b, left);
    shuffle<((kLane & kStep) != 0 ? kLanes + kLane : kLane + kStep)...>(a, b, right);
    a = left;
    b = right;
  }
}

/// Transposes 16 rows: lane j of row i goes to lane i of row j.
[[gnu::always_inline]] inline void transpose(Lanes* rows) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes>();
  exchange<8>(rows, kAll);
  exchange<4>(rows, kAll);
  exchange<2>(rows, kAll);
  exchange<1>(rows, kAll);
}

/// Loads the first `count` lanes, at most 16, and zeros for the others.
template <typename Number>
[[gnu::always_inline]] inline void load_some(const Number* from, std::int64_t count, Lanes& to) {
  if (count >= kLanes) return load(from, to);
  Number numbers[kLanes] = {};
  std::memcpy(numbers, from, static_cast<std::size_t>(count) * sizeof(Number));
  load(numbers, to);
}
template <typename Number>
[[gnu::always_inline]] inline void store_some(const Lanes& from, std::int64_t count, Number* to) {
  if (count >= kLanes) return store(from, to);
  Number numbers[kLanes];
  store(from, numbers);
  std::memcpy(to, numbers, static_cast<std::size_t>(count) * sizeof(Number));
}

/// Returns Σ f(x), where f transforms 16 numbers in place. Four accumulators hide the latency.
template <typename Number, typename Function>
[[gnu::always_inline]] inline float sum_of(const Number* x, std::int64_t size, const Function& f) {
  constexpr std::int64_t kSums = 4;
  Lanes sums[kSums] = {};
  std::int64_t i = 0;
  for (; size - i >= kSums * kLanes; i += kSums * kLanes) {
    for (std::int64_t s = 0; s < kSums; ++s) {
      Lanes part;
      load(x + i + s * kLanes, part);
      f(part);
      sums[s] += part;
    }
  }
  for (; i + kLanes <= size; i += kLanes) {
    Lanes part;
    load(x + i, part);
    f(part);
    sums[0] += part;
  }
  float rest = 0.0F;
  if (i < size) {
    Lanes part;
    load_some(x + i, size - i, part);
    f(part);
    for (int lane = 0; lane < static_cast<int>(size - i); ++lane) rest += part[lane];
  }
  return rest + sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Returns Σ x.
template <typename Number>
[[gnu::always_inline]] inline float sum_of(const Number* x, std::int64_t size) {
  return sum_of(x, size, [](Lanes&) __attribute__((always_inline)){});
}

/// Returns the largest number, ignoring NaN; −∞ if there is none.
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
  const float other = max_of_lanes(largest);
  return other > result ? other : result;
}

/// Returns eʳ − 1 for |r| ≤ ln 2 / 2, by the polynomial of Cephes' expf.
[[gnu::always_inline]] inline float expm1_near_0(float r) {
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return p * r * r + r;
}

/// Returns eˣ to about 1 ulp, as 2ᵏ·eʳ with |r| ≤ ln 2 / 2. ln 2 is subtracted in two parts, so that r is exact.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kOverflow = 88.7228394F, kUnderflow = -87.3365479F;
  const float k = std::nearbyint(x * 1.44269504F);
  float r = x - k * 0.693359375F;
  r = r + k * 2.12194440e-4F;
  const float p = expm1_near_0(r) + 1.0F;
  // 2ᵏ is made from its bits in two factors, because k may be 128 while the result is still finite.
  const float clamped = k < -126.0F ? -126.0F : k > 128.0F ? 128.0F : k;
  const int exponent = clamped == clamped ? static_cast<int>(clamped) : 0;
  const int half = exponent / 2;
  float y = p * std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((exponent - half + 127) << 23);
  y = x < kUnderflow ? 0.0F : y;
  y = x > kOverflow ? std::numeric_limits<float>::infinity() : y;
  return x != x ? x : y;
}

/// Returns eˣ for x ≤ 0, as a softmax needs it; NaN stays NaN.
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

/// The minimax polynomials of 2ʳ for |r| ≤ 1/2 with value 1 at 0, from the highest power on. Their relative errors are
/// 2.8e-6, 9e-8 and 2e-9.
template <int kDegree>
inline constexpr float kExp2[kDegree]{};
template <>
inline constexpr float kExp2<4>[] { 9.582853142e-3F, 5.590642673e-2F, 2.402409862e-1F, 6.931241932e-1F };
template <>
inline constexpr float kExp2<5>[] {
  1.326472708e-3F, 9.671512862e-3F, 5.550733746e-2F, 2.402224208e-1F, 6.931469776e-1F
};
template <>
inline constexpr float kExp2<6>[] {
  1.535336193e-4F, 1.339887441e-3F, 9.618437358e-3F, 5.550332471e-2F, 2.402264791e-1F, 6.931472029e-1F
};

/// Computes 2ˣ for x ≤ 0 by a polynomial, of degree 6 to about 1 ulp; 0 below -126.5; NaN stays NaN.
template <int kDegree = 6>
[[gnu::always_inline]] inline void exp2_below_0(const Lanes& x, Lanes& to) {
  constexpr float kUnderflow = -127.0F;    // at this exponent the power of two is 0
  constexpr float kRound = 12'582'912.0F;  // 1.5·2²³: adding it leaves an integer in the low bits
  const Lanes clamped = x < kUnderflow ? Lanes{} + kUnderflow : x;
  const Lanes rounded = clamped + kRound;
  const Lanes r = clamped - (rounded - kRound);
  Lanes p = Lanes{} + kExp2<kDegree>[0];
  for (int i = 1; i < kDegree; ++i) p = p * r + kExp2<kDegree>[i];
  p = p * r + 1.0F;
  const Integers power = (reinterpret_cast<Integers>(rounded) << 23) + (127 << 23);
  to = p * reinterpret_cast<Lanes>(power);
}

/// Returns eˣ − 1, accurate near 0.
[[gnu::always_inline]] inline float expm1_of(float x) {
  return std::abs(x) < 0.3465736F ? expm1_near_0(x) : exp_of(x) - 1.0F;
}

/// Computes erfc(z) = e^(−z²)·t·P(t) for z = |x|/√2 and t = 1/(1 + 0.43z), and the exponential e^(−z²) in `power`. P is
/// a minimax polynomial for z up to 9.5, with a relative error of 9e-8; beyond that the result is 0.
[[gnu::always_inline]] inline void erfc_of(const Lanes& x, Lanes& to, Lanes& power) {
  const Lanes t = 1.0F / (1.0F + 0.304055916F * (x < 0.0F ? -x : x));
  Lanes p = 0.0737079009F * t - 0.310373276F;
  p = p * t + 0.383705527F;
  p = p * t - 0.0857256204F;
  p = p * t + 0.246844381F;
  p = p * t + 0.204951122F;
  p = p * t + 0.244375437F;
  p = p * t + 0.24251461F;
  exp2_below_0(x * x * -0.721347520F, power);
  to = p * t * power;
}

/// Computes x·Φ(x).
[[gnu::always_inline]] inline void gelu_of(const Lanes& x, Lanes& to) {
  Lanes tail, power;
  erfc_of(x, tail, power);
  to = 0.5F * x * (x < 0.0F ? tail : 2.0F - tail);
}

/// Computes x·(1 + tanh u)/2 = x/(1 + e^(−2u)), with 2u = x·√(8/π)·(1 + 0.044715x²).
[[gnu::always_inline]] inline void gelu_tanh_of(const Lanes& x, Lanes& to) {
  const Lanes twice = x * (1.59576912F + 0.0713548163F * (x * x));
  Lanes power;
  exp2_below_0((twice < 0.0F ? twice : -twice) * 1.44269504F, power);
  to = x * (twice < 0.0F ? power : Lanes{} + 1.0F) / (1.0F + power);
}

[[gnu::always_inline]] inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

/// Computes tanh: near 0 by the odd polynomial of Cephes' tanhf, elsewhere as 1 − 2/(e²ˣ + 1).
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

}  // namespace attn::backends::cpu
