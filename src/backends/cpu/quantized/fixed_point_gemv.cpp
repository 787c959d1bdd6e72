#include "fixed_point_gemv.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "attn/base/error.h"
#include "gemm/panel.h"
#include "isa.h"
#include "operations/each.h"
#include "vector.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kDigits = 3, kFour = 4;         // bytes (digits) of a number; bytes per int8 dot product
constexpr std::int64_t kWordOfPanel = kPanel * kFour;  // bytes of one 32-bit word for each column of a panel
constexpr int kBase = 256, kHalf = 128;
constexpr float kMostUnits = 127.0F * kBase * kBase + 127.0F * kBase + 127.0F;
constexpr float kLeast = 0x1p-100F;  // a smaller magnitude would have a denormal unit

/// Returns the number of depth rows that share a 32-bit word of a column.
constexpr std::int64_t rows_of_word(IntegerForm form) { return form == IntegerForm::nibbles ? 8 : 4; }

std::int64_t words_of(IntegerForm form, std::int64_t depth) {
  return (depth + rows_of_word(form) - 1) / rows_of_word(form);
}

/// The decomposition of a group of numbers: x = unit · X, where X has kDigits digits. Also the sum of x, and the sums
/// of each digit of X.
struct FixedPointGroup {
  float unit = 0.0F, sum = 0.0F;
  std::int32_t digits[kDigits]{};
};

FixedPointGroup* groups_in(std::byte* digits) { return reinterpret_cast<FixedPointGroup*>(digits); }

/// Writes one digit of 16 numbers, word by word. For nibbles, the digits of rows 0, 2, 4 and 6 of an octet come first,
/// because they are multiplied together; the odd rows follow.
template <bool kIsNibbles>
[[gnu::always_inline]] inline void write_digit(const Integers& digit, std::int64_t words, std::int8_t* to) {
  constexpr std::int64_t kRows = kIsNibbles ? 8 : 4;
  Integers numbers = digit;
  if constexpr (kIsNibbles)
    numbers = __builtin_shufflevector(digit, digit, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  using Bytes = std::uint8_t __attribute__((vector_size(kLanes)));
  // Converts through 16 bits, because compilers otherwise extract the bytes one by one.
  const Bytes bytes = __builtin_convertvector(__builtin_convertvector(numbers, Halves), Bytes);
  std::int8_t from[kLanes];
  std::memcpy(from, &bytes, sizeof bytes);
  for (std::int64_t w = 0; w < std::min(words, kLanes / kRows); ++w)
    std::memcpy(to + w * kRows * kDigits, from + w * kRows, kRows);
}

/// Computes the digits of a group's numbers, and their sums.
template <bool kIsNibbles>
[[gnu::always_inline]] inline void split_numbers(const float* x, std::int64_t size, float units, std::int8_t* bytes,
                                                 std::int32_t* digit_sums) {
  constexpr std::int64_t kRows = kIsNibbles ? 8 : 4;
  constexpr int kMost = static_cast<int>(kMostUnits);
  Integers sums[kDigits]{};
  for (std::int64_t k = 0; k < size; k += kLanes) {
    Lanes numbers;
    load_some(x + k, size - k, numbers);
    numbers *= units;
    numbers += numbers < 0.0F ? Lanes{} - 0.5F : Lanes{} + 0.5F;
    Integers rest = __builtin_convertvector(numbers, Integers);
    rest = rest > kMost ? Integers{} + kMost : rest;
    rest = rest < -kMost ? Integers{} - kMost : rest;
    const std::int64_t words = (size - k + kRows - 1) / kRows;
    std::int8_t* const to = bytes + k * kDigits;
    for (std::int64_t digit = kDigits; digit-- > 0;) {
      const Integers low = ((rest + kHalf) & (kBase - 1)) - kHalf;
      rest = (rest - low) >> 8;
      sums[digit] += low;
      write_digit<kIsNibbles>(low, words, to + digit * kRows);
    }
  }
  for (std::int64_t digit = 0; digit < kDigits; ++digit) {
    digit_sums[digit] = 0;
    for (int lane = 0; lane < kLanes; ++lane) digit_sums[digit] += sums[digit][lane];
  }
}

ATTN_VECTORIZED(void, split_by_bytes, const float* x, std::int64_t size, float units, std::int8_t* bytes,
                std::int32_t* digit_sums) {
  split_numbers<false>(x, size, units, bytes, digit_sums);
}
ATTN_VECTORIZED(void, split_by_nibbles, const float* x, std::int64_t size, float units, std::int8_t* bytes,
                std::int32_t* digit_sums) {
  split_numbers<true>(x, size, units, bytes, digit_sums);
}

#if defined(__x86_64__) && defined(__GNUC__)
#define ATTN_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

// Uses the compiler's operators, because GCC 12 warns about uninitialized values in its intrinsics for these.
using Unsigned = unsigned __attribute__((vector_size(64)));
ATTN_VNNI inline __m512i upper_of(__m512i words) {
  return reinterpret_cast<__m512i>(reinterpret_cast<Unsigned>(words) >> 4);
}
ATTN_VNNI inline __m512 floats_of(__m512i integers) {
  return __builtin_convertvector(reinterpret_cast<Integers>(integers), __m512);
}

/// Broadcasts four bytes to all columns. They are read from memory each time, because GCC splits a copy on the stack
/// into six instructions.
ATTN_VNNI inline __m512i all_of(const std::int8_t* four) {
  std::int32_t word = 0;
  std::memcpy(&word, four, sizeof word);
  return _mm512_set1_epi32(word);
}

/// The maximum number of rows whose accumulators fit into the registers: each row has three digits by two vectors of
/// columns.
constexpr int kMostRows = 4;

/// The groups and bytes of each decomposed row.
struct Split {
  const FixedPointGroup* groups[kMostRows];
  const std::int8_t* bytes[kMostRows];
};

/// y = Σ over groups of scale · (unit · Σ X·integer − zero · Σ x). The offset `added` of the stored integers is
/// subtracted from their sums, which is exact.
template <bool kIsNibbles, int kRows>
ATTN_VNNI void multiply_rows(int added, const Split& rows, const std::uint8_t* panel, const PanelGroups& groups,
                             float* y) {
  constexpr std::int64_t kRowsOfWord = kIsNibbles ? 8 : 4, kWordBytes = kRowsOfWord * kDigits, kColumns = kPanel / 2;
  const __m512i mask = _mm512_set1_epi8(0xF);
  const __m512 base = _mm512_set1_ps(kBase);
  __m512 totals[kRows][2] = {};
  const std::int8_t* bytes[kRows];
  ATTN_EACH(r, kRows) bytes[r] = rows.bytes[r];
  std::int64_t word = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const std::int64_t end = (groups.ends[g] + kRowsOfWord - 1) / kRowsOfWord;
    __m512i sums[kRows][kDigits][2];
    ATTN_EACH(r, kRows) {
      ATTN_EACH(d, kDigits) { sums[r][d][0] = sums[r][d][1] = _mm512_set1_epi32(-added * rows.groups[r][g].digits[d]); }
    }
    for (; word < end; ++word, panel += kWordOfPanel) {
      const __m512i words0 = _mm512_loadu_si512(panel), words1 = _mm512_loadu_si512(panel + kWordOfPanel / 2);
      const __m512i even0 = kIsNibbles ? words0 & mask : words0, even1 = kIsNibbles ? words1 & mask : words1;
      ATTN_EACH(r, kRows) {
        ATTN_EACH(d, kDigits) {
          sums[r][d][0] = _mm512_dpbusd_epi32(sums[r][d][0], even0, all_of(bytes[r] + d * kRowsOfWord));
          sums[r][d][1] = _mm512_dpbusd_epi32(sums[r][d][1], even1, all_of(bytes[r] + d * kRowsOfWord));
        }
      }
      if constexpr (kIsNibbles) {
        const __m512i odd0 = upper_of(words0) & mask, odd1 = upper_of(words1) & mask;
        ATTN_EACH(r, kRows) {
          ATTN_EACH(d, kDigits) {
            sums[r][d][0] = _mm512_dpbusd_epi32(sums[r][d][0], odd0, all_of(bytes[r] + d * kRowsOfWord + kFour));
            sums[r][d][1] = _mm512_dpbusd_epi32(sums[r][d][1], odd1, all_of(bytes[r] + d * kRowsOfWord + kFour));
          }
        }
      }
      ATTN_EACH(r, kRows) bytes[r] += kWordBytes;
    }
    ATTN_EACH(v, 2) {
      const std::int64_t at = g * kPanel + v * kColumns;
      __m512 zero = _mm512_setzero_ps(), scale = _mm512_set1_ps(1.0F);
      if (groups.zero != nullptr) zero = _mm512_loadu_ps(groups.zero + at);
      if (groups.scale != nullptr) scale = _mm512_loadu_ps(groups.scale + at);
      ATTN_EACH(r, kRows) {
        const FixedPointGroup& group = rows.groups[r][g];
        const __m512 upper = _mm512_fmadd_ps(floats_of(sums[r][0][v]), base, floats_of(sums[r][1][v]));
        const __m512 number = _mm512_fmadd_ps(upper, base, floats_of(sums[r][2][v]));
        const __m512 sum = _mm512_mul_ps(number, _mm512_set1_ps(group.unit));
        totals[r][v] = _mm512_fmadd_ps(_mm512_fnmadd_ps(zero, _mm512_set1_ps(group.sum), sum), scale, totals[r][v]);
      }
    }
  }
  ATTN_EACH(r, kRows) { ATTN_EACH(v, 2) _mm512_storeu_ps(y + r * kPanel + v * kColumns, totals[r][v]); }
}
#undef ATTN_VNNI

using Multiply = void (*)(int, const Split&, const std::uint8_t*, const PanelGroups&, float*);
constexpr Multiply kByBytes[] = {multiply_rows<false, 1>, multiply_rows<false, 2>, multiply_rows<false, 3>,
                                 multiply_rows<false, 4>};
constexpr Multiply kByNibbles[] = {multiply_rows<true, 1>, multiply_rows<true, 2>, multiply_rows<true, 3>,
                                   multiply_rows<true, 4>};
#endif

}  // namespace

bool has_fixed_point_gemv(IntegerForm form, std::int64_t depth, const PanelGroups& groups) {
  // Maximum depths at which sums of products fit into 32 bits.
  constexpr std::int64_t kMostDepth = std::int64_t{1} << 16, kMostDepthOfNibbles = std::int64_t{1} << 20;
  if (!has_int8_dots() || form == IntegerForm::quads || depth == 0 || !groups.is_whole) return false;
  if (depth > (form == IntegerForm::nibbles ? kMostDepthOfNibbles : kMostDepth)) return false;
  return std::all_of(groups.ends, groups.ends + groups.count - 1,
                     [form](std::int64_t end) { return end % rows_of_word(form) == 0; });
}

std::int64_t fixed_point_bytes(IntegerForm form, std::int64_t depth, std::int64_t groups) {
  return groups * static_cast<std::int64_t>(sizeof(FixedPointGroup)) +
         words_of(form, depth) * rows_of_word(form) * kDigits;
}

bool to_fixed_point(IntegerForm form, const float* x, const PanelGroups& groups, std::byte* digits) {
  FixedPointGroup* const of = groups_in(digits);
  auto* const bytes = reinterpret_cast<std::int8_t*>(of + groups.count);
  const auto split = form == IntegerForm::nibbles ? split_by_nibbles : split_by_bytes;
  std::int64_t k = 0;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const std::int64_t size = groups.ends[g] - k;
    const float largest = largest_of(x + k, size);
    if (!(largest <= std::numeric_limits<float>::max()) || (largest != 0.0F && largest < kLeast)) return false;
    const float units = largest == 0.0F ? 0.0F : kMostUnits / largest, unit = largest / kMostUnits;
    FixedPointGroup group{.unit = unit};
    split(x + k, size, units, bytes + k * kDigits, group.digits);
    std::int64_t sum = 0;
    for (const std::int32_t digits_of_one : group.digits) sum = sum * kBase + digits_of_one;
    group.sum = static_cast<float>(static_cast<double>(sum) * unit);
    of[g] = group;
    k = groups.ends[g];
  }
  return true;
}

void multiply_fixed_point([[maybe_unused]] IntegerForm form, [[maybe_unused]] bool is_signed,
                          [[maybe_unused]] const std::byte* digits, [[maybe_unused]] std::int64_t row_digits,
                          [[maybe_unused]] std::int64_t rows, [[maybe_unused]] const std::byte* panel,
                          [[maybe_unused]] const PanelGroups& groups, [[maybe_unused]] float* y) {
#if defined(__x86_64__) && defined(__GNUC__)
  const auto& by_rows = form == IntegerForm::nibbles ? kByNibbles : kByBytes;
  const auto* const from = reinterpret_cast<const std::uint8_t*>(panel);
  const int added = added_to(form, is_signed);
  const std::int64_t parts = (rows + kMostRows - 1) / kMostRows;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = rows * part / parts, count = rows * (part + 1) / parts - first;
    Split split{};
    for (std::int64_t r = 0; r < count; ++r) {
      split.groups[r] = reinterpret_cast<const FixedPointGroup*>(digits + (first + r) * row_digits);
      split.bytes[r] = reinterpret_cast<const std::int8_t*>(split.groups[r] + groups.count);
    }
    by_rows[count - 1](added, split, from, groups, y + first * kPanel);
  }
#else
  throw internal_error("this CPU has no int8 dot products");
#endif
}

}  // namespace attn::backends::cpu
