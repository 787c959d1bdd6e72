#include "nibble_dots.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "attn/base/error.h"
#include "isa.h"
#include "panel.h"
#include "vector.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kOctet = 8, kDigits = 3;  // rows of the depth in 32 bits of a column; bytes of a number
constexpr std::int64_t kOctetBytes = kOctet * kDigits;
constexpr std::int64_t kOctetOfPanel = kPanel * 4;  // bytes of all columns
constexpr int kBase = 256, kHalf = 128;
constexpr float kMostUnits = 127.0F * kBase * kBase + 127.0F * kBase + 127.0F;
constexpr float kLeast = 0x1p-100F;                         // the unit of less would be denormal
constexpr std::int64_t kMostDepth = std::int64_t{1} << 20;  // sums of 127 · 15 stay within 32 bits

/// Of a group: x = unit · X, and the sum of x.
struct DigitGroup {
  float unit, sum;
};

std::int64_t octets_of(std::int64_t depth) { return (depth + kOctet - 1) / kOctet; }

std::int64_t depth_of(const PanelGroups& groups) { return groups.ends[groups.count - 1]; }

DigitGroup* groups_in(std::byte* digits) { return reinterpret_cast<DigitGroup*>(digits); }

float largest_of(const float* x, std::int64_t size) {
  float largest = 0.0F;
  for (std::int64_t k = 0; k < size; ++k) {
    const float magnitude = std::abs(x[k]);
    if (!(magnitude <= largest)) largest = magnitude;  // and stays NaN, as no number is less than it
    if (std::isnan(magnitude)) return magnitude;
  }
  return largest;
}

/// The bytes of row k: rows 0, 2, 4 and 6 of an octet are multiplied together, and so are the odd ones.
void write_digits(int number, std::int64_t k, std::int8_t* bytes) {
  const std::int64_t row = k % kOctet;
  std::int8_t* const to = bytes + k / kOctet * kOctetBytes + row % 2 * 4 + row / 2;
  for (std::int64_t digit = kDigits; digit-- > 0;) {
    const int low = ((number + kHalf) & (kBase - 1)) - kHalf;
    to[digit * kOctet] = static_cast<std::int8_t>(low);
    number = (number - low) / kBase;
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
#define ATTN_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

// By the compiler's own operators, as GCC 12 warns of what its intrinsics for these leave unset.
using Unsigned = unsigned __attribute__((vector_size(64)));
ATTN_VNNI inline __m512i upper_of(__m512i words) {
  return reinterpret_cast<__m512i>(reinterpret_cast<Unsigned>(words) >> 4);
}
ATTN_VNNI inline __m512 floats_of(__m512i integers) {
  return __builtin_convertvector(reinterpret_cast<Integers>(integers), __m512);
}

/// Four bytes for all columns, each time from memory: of a copy on the stack GCC makes six.
ATTN_VNNI inline __m512i all_of(const std::int8_t* four) {
  std::int32_t word = 0;
  std::memcpy(&word, four, sizeof word);
  return _mm512_set1_epi32(word);
}

/// Two vectors of columns, three digits of each.
struct Sums {
  __m512i of[kDigits][2];
};

/// sums += digits · nibbles, over octets.
ATTN_VNNI void add_octets(const std::int8_t* bytes, const std::uint8_t* panel, std::int64_t octets, Sums& sums) {
  constexpr std::int64_t kAhead = 8 * kOctetOfPanel;
  const __m512i mask = _mm512_set1_epi8(0xF);
  __m512i a0 = _mm512_setzero_si512(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0;
  for (std::int64_t o = 0; o < octets; ++o, bytes += kOctetBytes, panel += kOctetOfPanel) {
    __builtin_prefetch(panel + kAhead);
    __builtin_prefetch(panel + kAhead + kOctetOfPanel / 2);
    const __m512i words0 = _mm512_loadu_si512(panel), words1 = _mm512_loadu_si512(panel + kOctetOfPanel / 2);
    const __m512i even0 = words0 & mask, even1 = words1 & mask;
    const __m512i odd0 = upper_of(words0) & mask;
    const __m512i odd1 = upper_of(words1) & mask;
    a0 = _mm512_dpbusd_epi32(a0, even0, all_of(bytes + 0));
    a1 = _mm512_dpbusd_epi32(a1, even1, all_of(bytes + 0));
    b0 = _mm512_dpbusd_epi32(b0, even0, all_of(bytes + 8));
    b1 = _mm512_dpbusd_epi32(b1, even1, all_of(bytes + 8));
    c0 = _mm512_dpbusd_epi32(c0, even0, all_of(bytes + 16));
    c1 = _mm512_dpbusd_epi32(c1, even1, all_of(bytes + 16));
    a0 = _mm512_dpbusd_epi32(a0, odd0, all_of(bytes + 4));
    a1 = _mm512_dpbusd_epi32(a1, odd1, all_of(bytes + 4));
    b0 = _mm512_dpbusd_epi32(b0, odd0, all_of(bytes + 12));
    b1 = _mm512_dpbusd_epi32(b1, odd1, all_of(bytes + 12));
    c0 = _mm512_dpbusd_epi32(c0, odd0, all_of(bytes + 20));
    c1 = _mm512_dpbusd_epi32(c1, odd1, all_of(bytes + 20));
  }
  sums = {{{a0, a1}, {b0, b1}, {c0, c1}}};
}

/// Σ X · nibble as a float.
ATTN_VNNI __m512 number_of(const Sums& sums, int v) {
  const __m512 base = _mm512_set1_ps(kBase);
  const __m512 upper = _mm512_fmadd_ps(floats_of(sums.of[0][v]), base, floats_of(sums.of[1][v]));
  return _mm512_fmadd_ps(upper, base, floats_of(sums.of[2][v]));
}

ATTN_VNNI void multiply_by_vnni(float added, const DigitGroup* of, const std::int8_t* bytes, const std::uint8_t* panel,
                                const PanelGroups& groups, float* y) {
  constexpr std::int64_t kColumns = kPanel / 2;
  __m512 totals[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const std::int64_t end = octets_of(groups.ends[g]);
    Sums sums;
    add_octets(bytes + first * kOctetBytes, panel + first * kOctetOfPanel, end - first, sums);
    first = end;
    for (int v = 0; v < 2; ++v) {
      const std::int64_t at = g * kPanel + v * kColumns;
      __m512 origin = _mm512_set1_ps(added), scale = _mm512_set1_ps(1.0F);
      if (groups.zero != nullptr) origin = _mm512_add_ps(origin, _mm512_loadu_ps(groups.zero + at));
      if (groups.scale != nullptr) scale = _mm512_loadu_ps(groups.scale + at);
      const __m512 sum = _mm512_mul_ps(number_of(sums, v), _mm512_set1_ps(of[g].unit));
      totals[v] = _mm512_fmadd_ps(_mm512_fnmadd_ps(origin, _mm512_set1_ps(of[g].sum), sum), scale, totals[v]);
    }
  }
  _mm512_storeu_ps(y, totals[0]);
  _mm512_storeu_ps(y + kColumns, totals[1]);
}
#undef ATTN_VNNI
#endif

}  // namespace

bool has_nibble_dots(std::int64_t depth, const PanelGroups& groups) {
  if (!has_byte_dots() || depth == 0 || depth > kMostDepth || !groups.is_whole) return false;
  return std::all_of(groups.ends, groups.ends + groups.count - 1, [](std::int64_t end) { return end % kOctet == 0; });
}

std::int64_t digit_bytes(std::int64_t depth, std::int64_t groups) {
  return groups * static_cast<std::int64_t>(sizeof(DigitGroup)) + octets_of(depth) * kOctetBytes;
}

bool split_row(const float* x, const PanelGroups& groups, std::byte* digits) {
  DigitGroup* const of = groups_in(digits);
  auto* const bytes = reinterpret_cast<std::int8_t*>(of + groups.count);
  const std::int64_t depth = depth_of(groups);
  if (depth % kOctet != 0) std::memset(bytes + depth / kOctet * kOctetBytes, 0, kOctetBytes);
  std::int64_t k = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const float largest = largest_of(x + k, groups.ends[g] - k);
    if (!(largest <= std::numeric_limits<float>::max()) || (largest != 0.0F && largest < kLeast)) return false;
    const float units = largest == 0.0F ? 0.0F : kMostUnits / largest, unit = largest / kMostUnits;
    std::int64_t sum = 0;
    for (; k < groups.ends[g]; ++k) {
      const float number = x[k] * units;
      const int whole = static_cast<int>(number < 0.0F ? number - 0.5F : number + 0.5F);
      const int within = std::clamp(whole, -static_cast<int>(kMostUnits), static_cast<int>(kMostUnits));
      write_digits(within, k, bytes);
      sum += within;
    }
    of[g] = {unit, static_cast<float>(static_cast<double>(sum) * unit)};
  }
  return true;
}

void multiply_nibbles([[maybe_unused]] bool is_signed, [[maybe_unused]] const std::byte* digits,
                      [[maybe_unused]] const std::byte* panel, [[maybe_unused]] const PanelGroups& groups,
                      [[maybe_unused]] float* y) {
#if defined(__x86_64__) && defined(__GNUC__)
  const auto* const of = reinterpret_cast<const DigitGroup*>(digits);
  const auto* const bytes = reinterpret_cast<const std::int8_t*>(of + groups.count);
  constexpr float kAdded = 8.0F;
  return multiply_by_vnni(is_signed ? kAdded : 0.0F, of, bytes, reinterpret_cast<const std::uint8_t*>(panel), groups,
                          y);
#else
  throw internal_error("this CPU has no dot products of bytes");
#endif
}

}  // namespace attn::backends::cpu
