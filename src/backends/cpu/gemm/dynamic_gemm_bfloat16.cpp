#include "dynamic_gemm_bfloat16.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "attn/plan/bytes.h"
#include "operations/convert.h"
#include "operations/each.h"
#include "vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attn::backends::cpu {
namespace {

using Number = DynamicGemmBfloat16::Number;

/// Maximum numbers of a block of rows of x, which stays in the L2 cache while the panels are read; minimum and maximum
/// rows of a block.
constexpr std::int64_t kBlockNumbers = 1 << 18, kLeastHeight = 48, kMostHeight = 192;
/// Maximum numbers of the panels that are packed together.
constexpr std::int64_t kPackedNumbers = 1 << 23;
constexpr std::int64_t kPiecesPerThread = 4, kLeastPanels = 8, kPair = 2;

std::int64_t count_of(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }
std::int64_t pairs_of(std::int64_t depth) { return count_of(depth, kPair); }
std::int64_t panel_numbers(const DynamicGemmSize& size) { return pairs_of(size.depth) * kPair * kPanel; }

std::int64_t height_of(const DynamicGemmSize& size) {
  const std::int64_t most = std::clamp(kBlockNumbers / size.depth, kLeastHeight, kMostHeight);
  return count_of(size.rows, count_of(size.rows, most));
}

std::int64_t panels_per_block(const DynamicGemmSize& size) {
  return std::min(count_of(size.width, kPanel), std::max<std::int64_t>(1, kPackedNumbers / panel_numbers(size)));
}

/// Returns the row stride of a packed block: the pairs plus one cache line.
std::int64_t row_numbers(const DynamicGemmSize& size) {
  return (pairs_of(size.depth) + kLanes - 1) / kLanes * kLanes * kPair + kPair * kLanes;
}

bool lays_out(const DynamicGemmSize& size) { return size.transpose_x || size.depth % kPair != 0; }

/// Returns the numbers of a thread's scratch memory: a packed block of rows.
std::int64_t numbers_of_a_thread(const DynamicGemmSize& size) {
  if (!lays_out(size)) return 0;
  return (height_of(size) + kLanes) * row_numbers(size);
}

/// to[k/2·64 + 2·j + k%2] = y[k·row + j] for j < width, with zeros for other columns and the padding of an odd depth.
ATTN_VECTORIZED(void, pack_rows, const Number* y, std::int64_t row, std::int64_t depth, std::int64_t width,
                Number* to) {
  constexpr std::int64_t kStep = kPair * kPanel;
  const Number nothing[kPanel] = {};
  std::int64_t whole = 0;
  for (; width == kPanel && whole + 1 < depth; whole += kPair, to += kStep) {
    for (std::int64_t j = 0; j < kPanel; j += kLanes) {
      Halves first, second;
      std::memcpy(&first, y + whole * row + j, sizeof first);
      std::memcpy(&second, y + (whole + 1) * row + j, sizeof second);
      const Integers pairs =
          __builtin_convertvector(first, Integers) | (__builtin_convertvector(second, Integers) << 16);
      std::memcpy(to + kPair * j, &pairs, sizeof pairs);
    }
  }
  for (std::int64_t k = whole; k < depth; k += kPair, to += kStep) {
    Number first[kPanel] = {}, second[kPanel] = {};
    std::memcpy(first, y + k * row, static_cast<std::size_t>(width) * sizeof(Number));
    std::memcpy(second, k + 1 < depth ? y + (k + 1) * row : nothing, static_cast<std::size_t>(width) * sizeof(Number));
    for (std::int64_t j = 0; j < kPanel; ++j) {
      to[2 * j] = first[j];
      to[2 * j + 1] = second[j];
    }
  }
}

/// Transposes pairs: to[j·to_row + i] = from(i, j), 16 by 16. `f` loads row i.
template <typename Load>
[[gnu::always_inline]] inline void turn_pairs(const Load& f, Number* to, std::int64_t to_row) {
  Lanes block[kLanes];
  for (int i = 0; i < kLanes; ++i) f(i, block[i]);
  transpose(block);
  for (int i = 0; i < kLanes; ++i) std::memcpy(to + i * to_row, &block[i], sizeof block[i]);
}

/// Packs the same panel from a transposed y: y[j·depth + k].
ATTN_VECTORIZED(void, pack_columns, const Number* y, std::int64_t row, std::int64_t depth, std::int64_t width,
                Number* to) {
  constexpr std::int64_t kStep = kPair * kPanel;
  std::int64_t k = 0;
  for (; k + kPair * kLanes <= depth; k += kPair * kLanes) {
    for (std::int64_t j = 0; j < kPanel; j += kLanes) {
      turn_pairs(
          [&](int i, Lanes& v) __attribute__((always_inline)) {
            v = Lanes{};
            if (j + i < width) std::memcpy(&v, y + (j + i) * row + k, sizeof v);
          },
          to + k / kPair * kStep + kPair * j, kStep);
    }
  }
  for (; k < depth; k += kPair) {
    Number* const pairs = to + k / kPair * kStep;
    for (std::int64_t j = 0; j < kPanel; ++j) {
      pairs[2 * j] = j < width ? y[j * row + k] : Number{0};
      pairs[2 * j + 1] = j < width && k + 1 < depth ? y[j * row + k + 1] : Number{0};
    }
  }
}

/// to[i·to_row + k] = x[k·row + i] for i < rows; rows are written up to a multiple of 16.
ATTN_VECTORIZED(void, lay_out_pairs, const Number* x, std::int64_t row, std::int64_t rows, std::int64_t depth,
                Number* to, std::int64_t to_row) {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::int64_t>(kLanes, rows - i)) * sizeof(Number);
    for (std::int64_t k = 0; k < depth; k += kPair * kLanes) {
      turn_pairs(
          [&](int pair, Lanes& v) __attribute__((always_inline)) {
            Halves first{}, second{};
            const std::int64_t at = k + kPair * pair;
            if (at < depth) std::memcpy(&first, x + at * row + i, bytes);
            if (at + 1 < depth) std::memcpy(&second, x + (at + 1) * row + i, bytes);
            v = reinterpret_cast<Lanes>(__builtin_convertvector(first, Integers) |
                                        (__builtin_convertvector(second, Integers) << 16));
          },
          to + i * to_row + k, to_row);
    }
  }
}

/// to[i·32 + j] = sums[i·32 + j] + bias[j]
ATTN_VECTORIZED(void, add_bias, const float* sums, const float* bias, std::int64_t rows, float* to) {
  Lanes left, right;
  load(bias, left);
  load(bias + kLanes, right);
  for (std::int64_t i = 0; i < rows * kPanel; i += kPanel) {
    Lanes first, second;
    load(sums + i, first);
    load(sums + i + kLanes, second);
    store(first + left, second + right, to + i);
  }
}

/// Rounds rows of 32 floats to bfloat16, and stores the first `width` of each in rows of z.
ATTN_VECTORIZED(void, narrow_rows, const float* from, std::int64_t rows, std::int64_t width, Number* z,
                std::int64_t row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    Number rounded[kPanel];
    Number* const to = width == kPanel ? z + i * row : rounded;
    for (std::int64_t j = 0; j < kPanel; j += kLanes) {
      Lanes numbers;
      load(from + i * kPanel + j, numbers);
      store(numbers, to + j);
    }
    if (width < kPanel) std::copy_n(rounded, width, z + i * row);
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
#define ATTN_DOTS [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]]

/// y (kRows, 32) = x·panel
template <int kRows>
ATTN_DOTS void multiply_pairs(const Number* x, std::int64_t row, const Number* panel, std::int64_t pairs, float* y) {
  __m512 sums[kRows][2];
  ATTN_EACH(r, kRows) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel + pair * 64));
    const auto right = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel + pair * 64 + 32));
    ATTN_EACH(r, kRows) {
      std::int32_t numbers;
      std::memcpy(&numbers, x + r * row + kPair * pair, sizeof numbers);
      const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(numbers));
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], factor, left);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], factor, right);
    }
  }
  ATTN_EACH(r, kRows) {
    _mm512_storeu_ps(y + r * kPanel, sums[r][0]);
    _mm512_storeu_ps(y + r * kPanel + kPanel / 2, sums[r][1]);
  }
}
#undef ATTN_DOTS
#else
template <int kRows>
void multiply_pairs(const Number*, std::int64_t, const Number*, std::int64_t, float*) {}
#endif

using MultiplyPairs = void (*)(const Number*, std::int64_t, const Number*, std::int64_t, float*);
constexpr std::array<MultiplyPairs, 12> kMultiplyPairs{multiply_pairs<1>,  multiply_pairs<2>,  multiply_pairs<3>,
                                                       multiply_pairs<4>,  multiply_pairs<5>,  multiply_pairs<6>,
                                                       multiply_pairs<7>,  multiply_pairs<8>,  multiply_pairs<9>,
                                                       multiply_pairs<10>, multiply_pairs<11>, multiply_pairs<12>};

}  // namespace

std::string why_not_dynamic_gemm_bfloat16(DType dtype, const Multiplication& multiplication) {
  if (dtype != DType::bfloat16) return "it is not bfloat16";
  return multiplication.tiles == Tiles::dots ? "" : "dot products of bfloat16 are not faster here";
}

DynamicGemmBfloat16::DynamicGemmBfloat16(Engine& engine, const DynamicGemmSize& size, const graph::Unary& activation,
                                         bool residual)
    : engine_(engine),
      size_(size),
      finish_(activation, residual),
      panels_(count_of(size.width, kPanel)),
      blocks_(count_of(size.rows, height_of(size))),
      most_panels_(panels_per_block(size)) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(size.rows, 8));
  team_ = engine.team_for(rows * static_cast<double>(size.depth) * static_cast<double>(size.width));
  if (team_.threads > 1) {
    const std::int64_t wanted = count_of(kPiecesPerThread * team_.threads, blocks_);
    groups_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most_panels_ / kLeastPanels));
    if (blocks_ * groups_ < team_.threads) groups_ = std::min(most_panels_, count_of(team_.threads, blocks_));
  }
  laid_out_.resize(static_cast<std::size_t>(team_.threads));
  engine.scratch.reserve(scratch_bytes(size, team_.threads));
}

std::int64_t DynamicGemmBfloat16::scratch_bytes(const DynamicGemmSize& size, int threads) {
  return plan::sum_of_bytes({panels_per_block(size) * panel_numbers(size) * bytes_of(DType::bfloat16),
                             threads * numbers_of_a_thread(size) * bytes_of(DType::bfloat16)});
}

void DynamicGemmBfloat16::pack(const Number* y, std::int64_t panel, Number* to) const {
  const std::int64_t column = panel * kPanel, width = std::min(kPanel, size_.width - column);
  if (size_.transpose_y) {
    pack_columns(y + column * size_.depth, size_.depth, size_.depth, width, to);
  } else {
    pack_rows(y + column, size_.width, size_.depth, width, to);
  }
}

void DynamicGemmBfloat16::run(const Number* x, const Number* y, const Number* bias, const Number* residual, Number* z) {
  auto* const packed = reinterpret_cast<Number*>(engine_.scratch.get());
  const Operands on{x, y, bias, residual, z};
  std::ranges::fill(laid_out_, -1);
  for (std::int64_t begin = 0; begin < panels_; begin += most_panels_) {
    const std::int64_t end = std::min(begin + most_panels_, panels_);
    parallel_for(end - begin, team_,
                 [&](std::int64_t i, int) { pack(y, begin + i, packed + i * panel_numbers(size_)); });
    parallel_for(blocks_ * groups_, team_,
                 [&](std::int64_t piece, int thread) { run_piece(piece, thread, begin, end, on); });
  }
}

void DynamicGemmBfloat16::lay_out(std::int64_t first, std::int64_t rows, const Number* x, Number* to) const {
  const std::int64_t row = row_numbers(size_);
  if (size_.transpose_x) {
    lay_out_pairs(x + first, size_.rows, rows, size_.depth, to, row);
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(x + (first + i) * size_.depth, size_.depth, to + i * row);
    to[i * row + size_.depth] = 0;
  }
}

void DynamicGemmBfloat16::run_piece(std::int64_t piece, int thread, std::int64_t begin, std::int64_t end,
                                    const Operands& on) {
  const std::int64_t block = piece / groups_, group = piece % groups_, panels = end - begin;
  const std::int64_t first = size_.rows * block / blocks_, rows = size_.rows * (block + 1) / blocks_ - first;
  auto* const packed = reinterpret_cast<Number*>(engine_.scratch.get());
  const Number* from = on.x + first * size_.depth;
  std::int64_t row = size_.depth;
  if (lays_out(size_)) {
    Number* const own = packed + panels_per_block(size_) * panel_numbers(size_) + thread * numbers_of_a_thread(size_);
    if (std::exchange(laid_out_[static_cast<std::size_t>(thread)], block) != block) lay_out(first, rows, on.x, own);
    row = row_numbers(size_);
    from = own;
  }
  constexpr auto kMost = static_cast<std::int64_t>(kMultiplyPairs.size());
  const std::int64_t heights = count_of(rows, kMost);
  float sums[kMultiplyPairs.size() * kPanel];
  for (std::int64_t p = begin + panels * group / groups_; p < begin + panels * (group + 1) / groups_; ++p) {
    const Number* const panel = packed + (p - begin) * panel_numbers(size_);
    for (std::int64_t height = 0; height < heights; ++height) {
      const std::int64_t i = rows * height / heights, count = rows * (height + 1) / heights - i;
      kMultiplyPairs[static_cast<std::size_t>(count - 1)](from + i * row, row, panel, pairs_of(size_.depth), sums);
      write(sums, first + i, count, p * kPanel, on);
    }
  }
}

/// Applies bias, activation and residual, and rounds.
void DynamicGemmBfloat16::write(const float* sums, std::int64_t first, std::int64_t rows, std::int64_t column,
                                const Operands& on) const {
  const std::int64_t width = std::min(kPanel, size_.width - column), at = first * size_.width + column;
  float finished[kMultiplyPairs.size() * kPanel], residual[kMultiplyPairs.size() * kPanel];
  if (on.bias != nullptr || finish_.is_needed()) {
    float bias[kPanel] = {};
    if (on.bias != nullptr) widen(DType::bfloat16, on.bias + column, bias, width);
    add_bias(sums, bias, rows, finished);
    sums = finished;
  }
  if (finish_.is_needed()) {
    for (std::int64_t i = 0; on.residual != nullptr && i < rows; ++i) {
      float* const row = residual + i * kPanel;
      widen(DType::bfloat16, on.residual + at + i * size_.width, row, width);
      std::fill(row + width, row + kPanel, 0.0F);
    }
    finish_.run(residual, finished, rows * kPanel);
  }
  narrow_rows(sums, rows, width, on.z + at, size_.width);
}

}  // namespace attn::backends::cpu
