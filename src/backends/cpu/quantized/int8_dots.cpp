#include "int8_dots.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gemm/amx_tiles.h"
#include "gemm/panel.h"
#include "operations/each.h"
#include "vector.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kQuad = 4;
// Bytes of four depth rows of a panel, one 32-bit word for each column.
constexpr std::int64_t kQuadBytes = kPanel * kQuad;
/// For up to this many rows, explicit prefetching of the panel is slower than the hardware prefetcher, because
/// prefetches occupy memory slots that loads need.
constexpr int kFewRows = 6;

/// Portable version: computes 16 columns at a time, one of the four bytes after the other.
ATTN_VECTORIZED(void, multiply_by_lanes, const std::uint8_t* x, std::int64_t row_x, std::int64_t rows,
                const std::uint8_t* panel, std::int64_t quads, const std::int32_t* start, std::int32_t* y) {
  constexpr int kByte = 8, kWord = 32;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t half = 0; half < kPanel; half += kLanes) {
      Integers sums;
      std::memcpy(&sums, start + half, sizeof sums);
      for (std::int64_t q = 0; q < quads; ++q) {
        Integers four;
        std::memcpy(&four, panel + q * kQuadBytes + half * kQuad, sizeof four);
        for (int t = 0; t < kQuad; ++t)
          sums += ((four << (kWord - kByte - kByte * t)) >> (kWord - kByte)) *
                  static_cast<int>(x[i * row_x + q * kQuad + t]);
      }
      std::memcpy(y + i * kPanel + half, &sums, sizeof sums);
    }
  }
}

void run_by_lanes(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
                  std::int64_t quads, const std::int32_t* start, std::int32_t* y) {
  multiply_by_lanes(x, row_x, rows, panel, quads, start, y);
}

#if defined(__x86_64__) && defined(__GNUC__)

// NOLINTBEGIN(bugprone-macro-parentheses): types and names of variables cannot be parenthesized.

/// Defines name<kRows>, which multiplies kRows rows by `dot`, over `Vector`s of columns, for the instruction set `isa`.
/// If `by_columns`, all rows share the operands that `dot` derives from a vector of columns. Every loop over rows and
/// vectors is unrolled, because otherwise GCC 12 keeps the accumulators in memory and stores each product.
#define ATTN_INT8_DOTS(name, isa, Vector, load, store, set, dot, by_columns)                                  \
  template <int kRows>                                                                                        \
  [[gnu::target(isa)]] void name(const std::uint8_t* x, std::int64_t row_x, const std::uint8_t* panel,        \
                                 std::int64_t quads, const std::int32_t* start, std::int32_t* y) {            \
    constexpr int kVectors = kQuadBytes / sizeof(Vector);                                                     \
    constexpr std::int64_t kAhead = 64 * kQuadBytes, kColumns = sizeof(Vector) / sizeof(std::int32_t);        \
    Vector sums[kRows][kVectors], factors[kRows], columns[kVectors];                                          \
    ATTN_EACH(r, kRows) {                                                                                     \
      ATTN_EACH(v, kVectors) { sums[r][v] = load(reinterpret_cast<const Vector*>(start + v * kColumns)); }    \
    }                                                                                                         \
    for (std::int64_t q = 0; q < quads; ++q) {                                                                \
      if constexpr (kRows > kFewRows) {                                                                       \
        __builtin_prefetch(panel + kAhead, 0, 2);                                                             \
        __builtin_prefetch(panel + kAhead + kQuadBytes / 2, 0, 2);                                            \
      }                                                                                                       \
      ATTN_EACH(v, kVectors) { columns[v] = load(reinterpret_cast<const Vector*>(panel) + v); }               \
      ATTN_EACH(r, kRows) {                                                                                   \
        std::int32_t four;                                                                                    \
        std::memcpy(&four, x + r * row_x + q * kQuad, sizeof four);                                           \
        factors[r] = set(four);                                                                               \
        if constexpr (!(by_columns)) {                                                                        \
          ATTN_EACH(v, kVectors) { sums[r][v] = dot(sums[r][v], factors[r], columns[v]); }                    \
        }                                                                                                     \
      }                                                                                                       \
      if constexpr (by_columns) {                                                                             \
        ATTN_EACH(v, kVectors) {                                                                              \
          ATTN_EACH(r, kRows) { sums[r][v] = dot(sums[r][v], factors[r], columns[v]); }                       \
        }                                                                                                     \
      }                                                                                                       \
      panel += kQuadBytes;                                                                                    \
    }                                                                                                         \
    ATTN_EACH(r, kRows) {                                                                                     \
      ATTN_EACH(v, kVectors) { store(reinterpret_cast<Vector*>(y + r * kPanel + v * kColumns), sums[r][v]); } \
    }                                                                                                         \
  }
// NOLINTEND(bugprone-macro-parentheses)

// Without a dot-product instruction for four bytes, the even and the odd bytes are widened to 16 bits and multiplied in
// pairs. The sum of two products fits into 32 bits; instructions for pairs of bytes would saturate at 16 bits.
constexpr int kByte = 8, kLowBytes = 0x00FF;

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i dot_words(__m256i sums, __m256i x, __m256i w) {
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(kLowBytes)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(w, kByte), kByte));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, kByte), _mm256_srai_epi16(w, kByte));
  return _mm256_add_epi32(_mm256_add_epi32(sums, even), odd);
}

[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline __m512i dot_words(__m512i sums, __m512i x, __m512i w) {
  const __m512i even = _mm512_madd_epi16(_mm512_and_si512(x, _mm512_set1_epi16(kLowBytes)),
                                         _mm512_srai_epi16(_mm512_slli_epi16(w, kByte), kByte));
  const __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16(x, kByte), _mm512_srai_epi16(w, kByte));
  return _mm512_add_epi32(_mm512_add_epi32(sums, even), odd);
}

ATTN_INT8_DOTS(rows_of_avx2, "avx2", __m256i, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32, dot_words,
               true)
ATTN_INT8_DOTS(rows_of_avx_vnni, "avx2,avxvnni", __m256i, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32,
               _mm256_dpbusd_avx_epi32, false)
// The loop of rows_of_avx_vnni, for CPUs that have the instruction only in AVX-512's encoding.
ATTN_INT8_DOTS(rows_of_half_vnni, "avx512f,avx512vl,avx512vnni", __m256i, _mm256_loadu_si256, _mm256_storeu_si256,
               _mm256_set1_epi32, _mm256_dpbusd_epi32, false)
ATTN_INT8_DOTS(rows_of_avx512, "avx512f,avx512bw", __m512i, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi32,
               dot_words, true)
ATTN_INT8_DOTS(rows_of_avx512_vnni, "avx512f,avx512bw,avx512vl,avx512vnni", __m512i, _mm512_loadu_si512,
               _mm512_storeu_si512, _mm512_set1_epi32, _mm512_dpbusd_epi32, false)

using Rows = void (*)(const std::uint8_t*, std::int64_t, const std::uint8_t*, std::int64_t, const std::int32_t*,
                      std::int32_t*);

constexpr Rows kAvx2[] = {rows_of_avx2<1>, rows_of_avx2<2>};
constexpr Rows kAvxVnni[] = {rows_of_avx_vnni<1>, rows_of_avx_vnni<2>, rows_of_avx_vnni<3>};
constexpr Rows kHalfVnni[] = {rows_of_half_vnni<1>, rows_of_half_vnni<2>, rows_of_half_vnni<3>};
constexpr Rows kAvx512[] = {rows_of_avx512<1>, rows_of_avx512<2>, rows_of_avx512<3>, rows_of_avx512<4>,
                            rows_of_avx512<5>, rows_of_avx512<6>, rows_of_avx512<7>, rows_of_avx512<8>};
constexpr Rows kAvx512Vnni[] = {rows_of_avx512_vnni<1>,  rows_of_avx512_vnni<2>,  rows_of_avx512_vnni<3>,
                                rows_of_avx512_vnni<4>,  rows_of_avx512_vnni<5>,  rows_of_avx512_vnni<6>,
                                rows_of_avx512_vnni<7>,  rows_of_avx512_vnni<8>,  rows_of_avx512_vnni<9>,
                                rows_of_avx512_vnni<10>, rows_of_avx512_vnni<11>, rows_of_avx512_vnni<12>};

/// Splits rows into groups of similar size, at most the number of compiled functions.
template <const auto& kByRows>
void run_by_rows(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
                 std::int64_t quads, const std::int32_t* start, std::int32_t* y) {
  constexpr auto kMost = static_cast<std::int64_t>(std::size(kByRows));
  const std::int64_t groups = (rows + kMost - 1) / kMost;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t first = rows * group / groups, count = rows * (group + 1) / groups - first;
    kByRows[count - 1](x + first * row_x, row_x, panel, quads, start, y + first * kPanel);
  }
}
#endif

/// Multiplies on tiles: 32 rows at a time, then 16, with 16 quads per step. The remaining quads come first; `kOthers`
/// multiplies the remaining rows.
template <typename Tiles, auto kOthers>
void run_on_tiles(const std::uint8_t* x, std::int64_t row_x, std::int64_t rows, const std::uint8_t* panel,
                  std::int64_t quads, const std::int32_t* start, std::int32_t* y) {
  constexpr std::int64_t kStepBytes = kTileBytes / kTileRows, kStepQuads = kStepBytes / kQuad;
  const std::int64_t steps = quads / kStepQuads, on_tiles = steps == 0 ? 0 : rows / kTileRows * kTileRows;
  const std::int64_t done = steps * kStepQuads;
  if (on_tiles > 0) {
    kOthers(x + done * kQuad, row_x, on_tiles, panel + done * kQuadBytes, quads - done, start, y);
    Tiles tiles;
    for (std::int64_t i = 0; i < on_tiles;) {
      const bool is_double = on_tiles - i >= 2 * kTileRows;
      std::int32_t* const upper = y + i * kPanel;
      std::int32_t* const lower = upper + kTileRows * kPanel;
      const auto each_sum = [&](auto&& act) {
        act.template operator()<0>(upper);
        act.template operator()<1>(upper + kTileRows);
        if (!is_double) return;
        act.template operator()<2>(lower);
        act.template operator()<3>(lower + kTileRows);
      };
      each_sum([&]<int kTile>(std::int32_t* sums) { tiles.template load_integers<kTile>(sums, kPanel); });
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::uint8_t* const left = x + i * row_x + step * kStepBytes;
        const std::uint8_t* const right = panel + step * kStepQuads * kQuadBytes;
        tiles.template load_bytes<4>(left, row_x);
        tiles.template load_bytes<6>(right, kQuadBytes);
        tiles.template load_bytes<7>(right + kStepBytes, kQuadBytes);
        tiles.template multiply_bytes<0, 4, 6>();
        tiles.template multiply_bytes<1, 4, 7>();
        if (is_double) {
          tiles.template load_bytes<5>(left + kTileRows * row_x, row_x);
          tiles.template multiply_bytes<2, 5, 6>();
          tiles.template multiply_bytes<3, 5, 7>();
        }
      }
      each_sum([&]<int kTile>(std::int32_t* sums) { tiles.template store_integers<kTile>(sums, kPanel); });
      i += is_double ? 2 * kTileRows : kTileRows;
    }
  }
  if (on_tiles < rows)
    kOthers(x + on_tiles * row_x, row_x, rows - on_tiles, panel, quads, start, y + on_tiles * kPanel);
}

/// The optimal number of rows per call: six tiles of 16 rows.
constexpr std::int64_t kRowsOfTiles = 6 * kTileRows;

constexpr Int8Dots kByLanes{"integers", 8, run_by_lanes};
constexpr Int8Dots kEmulatedTiles{"integers on emulated tiles", kRowsOfTiles,
                                  run_on_tiles<EmulatedTiles, run_by_lanes>};

/// Returns all kernels, the fastest last.
std::vector<Int8Dots> find_all() {
  std::vector<Int8Dots> out{kEmulatedTiles, kByLanes};
#if defined(__x86_64__) && defined(__GNUC__)
  if (isa() >= Isa::avx2) out.push_back({"integers by AVX2", std::size(kAvx2), run_by_rows<kAvx2>});
  if (has_half_int8_dots())
    out.push_back({"integers by half of AVX512-VNNI", std::size(kHalfVnni), run_by_rows<kHalfVnni>});
  if (isa() >= Isa::avx512) out.push_back({"integers by AVX-512", std::size(kAvx512), run_by_rows<kAvx512>});
  if (has_avx_int8_dots()) out.push_back({"integers by AVX-VNNI", std::size(kAvxVnni), run_by_rows<kAvxVnni>});
  if (has_int8_dots()) out.push_back({"integers by AVX512-VNNI", std::size(kAvx512Vnni), run_by_rows<kAvx512Vnni>});
  if (has_int8_tiles())
    out.push_back({"integers on tiles", kRowsOfTiles, run_on_tiles<AmxTiles, run_by_rows<kAvx512Vnni>>});
#endif
  return out;
}

}  // namespace

std::span<const Int8Dots> all_int8_dots() {
  static const std::vector<Int8Dots> all = find_all();
  return all;
}

const Int8Dots& int8_dots(Tiles tiles) { return tiles == Tiles::emulated ? kEmulatedTiles : all_int8_dots().back(); }

}  // namespace attn::backends::cpu
