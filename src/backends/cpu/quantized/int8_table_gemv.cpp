#include "int8_table_gemv.h"

#include <algorithm>
#include <iterator>

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

#if defined(__x86_64__) && defined(__GNUC__)
#define ATTN_TABLE [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

/// Returns the sum of all lanes, by halving.
[[gnu::always_inline]] inline std::int32_t sum_of_integers(const Integers& x) {
  Integers sum = x;
  sum += __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  sum += __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  return sum[0] + sum[1];
}

/// Multiplies one row by one column after the other, so that the table is read sequentially; interleaving several
/// columns takes three times as long. Four accumulators hide the latency.
ATTN_TABLE std::int32_t dot_table_row(const std::uint8_t* x, const std::int8_t* row, std::int64_t depth) {
  constexpr std::int64_t kVector = 64;
  constexpr int kSums = 4;
  __m512i sums[kSums] = {};
  std::int64_t k = 0;
  for (; k + kSums * kVector <= depth; k += kSums * kVector) {
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s) {
      const std::int64_t at = k + s * kVector;
      sums[s] = _mm512_dpbusd_epi32(sums[s], _mm512_loadu_si512(x + at), _mm512_loadu_si512(row + at));
    }
  }
  for (; k + kVector <= depth; k += kVector)
    sums[0] = _mm512_dpbusd_epi32(sums[0], _mm512_loadu_si512(x + k), _mm512_loadu_si512(row + k));
  if (k < depth) {
    const auto rest = static_cast<__mmask64>(~std::uint64_t{0} >> (kVector - (depth - k)));
    sums[1] =
        _mm512_dpbusd_epi32(sums[1], _mm512_maskz_loadu_epi8(rest, x + k), _mm512_maskz_loadu_epi8(rest, row + k));
  }
  return sum_of_integers(reinterpret_cast<Integers>(sums[0]) + reinterpret_cast<Integers>(sums[1]) +
                         reinterpret_cast<Integers>(sums[2]) + reinterpret_cast<Integers>(sums[3]));
}

/// Minimum number of rows for which two columns are multiplied together, and the prefetch distance in bytes. The
/// hardware prefetcher does not detect that access pattern.
constexpr std::int64_t kTogether = 3, kAhead = 8 << 10;

/// Multiplies kRows rows by kColumns columns, each of which is read once for all rows.
template <int kRows, int kColumns>
ATTN_TABLE void dot_table_rows(const std::uint8_t* x, std::int64_t row_x, const std::int8_t* table, std::int64_t depth,
                               const std::int32_t* start, std::int32_t* y) {
  constexpr std::int64_t kVector = 64;
  __m512i sums[kRows][kColumns] = {}, columns[kColumns];
  std::int64_t k = 0;
  for (; k + kVector <= depth; k += kVector) {
    ATTN_EACH(j, kColumns) {
      __builtin_prefetch(table + j * depth + k + kAhead, 0, 2);
      columns[j] = _mm512_loadu_si512(table + j * depth + k);
    }
    ATTN_EACH(i, kRows) {
      const __m512i row = _mm512_loadu_si512(x + i * row_x + k);
      ATTN_EACH(j, kColumns) { sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], row, columns[j]); }
    }
  }
  if (k < depth) {
    const auto rest = static_cast<__mmask64>(~std::uint64_t{0} >> (kVector - (depth - k)));
    ATTN_EACH(j, kColumns) { columns[j] = _mm512_maskz_loadu_epi8(rest, table + j * depth + k); }
    ATTN_EACH(i, kRows) {
      const __m512i row = _mm512_maskz_loadu_epi8(rest, x + i * row_x + k);
      ATTN_EACH(j, kColumns) { sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], row, columns[j]); }
    }
  }
  ATTN_EACH(i, kRows) {
    ATTN_EACH(j, kColumns) { y[i * kPanel + j] = start[j] + sum_of_integers(reinterpret_cast<Integers>(sums[i][j])); }
  }
}

template <int kRows>
ATTN_TABLE void dot_table(const std::uint8_t* x, std::int64_t row_x, const std::int8_t* table, std::int64_t depth,
                          std::int64_t count, const std::int32_t* start, std::int32_t* y) {
  std::int64_t j = 0;
  for (; j + 2 <= count; j += 2) dot_table_rows<kRows, 2>(x, row_x, table + j * depth, depth, start + j, y + j);
  if (j < count) dot_table_rows<kRows, 1>(x, row_x, table + j * depth, depth, start + j, y + j);
}
#undef ATTN_TABLE

using DotTable = void (*)(const std::uint8_t*, std::int64_t, const std::int8_t*, std::int64_t, std::int64_t,
                          const std::int32_t*, std::int32_t*);
constexpr DotTable kByRows[] = {dot_table<3>, dot_table<4>, dot_table<5>, dot_table<6>, dot_table<7>, dot_table<8>};
static_assert(kTogether + std::ssize(kByRows) - 1 == kMostTableRows);
#endif

}  // namespace

bool has_int8_table_gemv() { return has_int8_dots(); }

void multiply_table([[maybe_unused]] const std::uint8_t* x, [[maybe_unused]] std::int64_t row_x,
                    [[maybe_unused]] std::int64_t rows, [[maybe_unused]] const std::int8_t* table,
                    [[maybe_unused]] std::int64_t depth, [[maybe_unused]] std::int64_t count,
                    [[maybe_unused]] const std::int32_t* start, [[maybe_unused]] std::int32_t* y) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (rows >= kTogether) return kByRows[rows - kTogether](x, row_x, table, depth, count, start, y);
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      y[i * kPanel + j] = start[j] + dot_table_row(x + i * row_x, table + j * depth, depth);
#else
  throw internal_error("this CPU has no int8 dot products");
#endif
}

}  // namespace attn::backends::cpu
