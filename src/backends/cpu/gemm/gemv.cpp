// GEMVs of a few rows with a stored weight whose columns are contiguous, such as an embedding that computes logits.
// Each column is read once, in place, and nothing is packed.
#include "gemv.h"

#include <array>
#include <type_traits>
#include <utility>

#include "attn/backends/gemv.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// For up to kUnaided rows, columns are read sequentially, which the hardware prefetcher detects. With more rows, two
/// columns are multiplied together, and the data is prefetched kAhead bytes ahead.
constexpr std::int64_t kUnaided = 3, kAhead = 24 << 10;

/// Forces one load for several products, because GCC 12 turns a plain load into a memory operand of each product. For
/// one product the load is plain, because with AVX2 GCC would move the other form through memory.
template <bool kIsOfSeveral, typename Number>
[[gnu::always_inline]] inline void load_once(const Number* from, Lanes& to) {
  if constexpr (kIsOfSeveral && std::is_same_v<Number, float>) {
    using Unaligned [[gnu::aligned(alignof(float)), gnu::may_alias]] = Lanes;
    to = *reinterpret_cast<const volatile Unaligned*>(from);
  } else {
    load(from, to);
  }
}

/// Multiplies kRows rows of x by kColumns columns of w, each of which is read once: y[i·stride + j] = x[i] · w[j]. An
/// element of y is the same sum in the same order for any number of rows and columns. `ahead` is the prefetch distance
/// in numbers; 0: no prefetching.
template <int kRows, int kColumns, typename Number>
[[gnu::always_inline]] inline void dot_block(const float* x, const Number* w, std::int64_t depth, std::int64_t ahead,
                                             float* y, std::int64_t stride) {
  constexpr std::int64_t kVector = kLanes, kLine = 64 / sizeof(Number), kTogether = 4 * kVector;
  Lanes sums[kRows][kColumns]{};
  const auto add = [&](std::int64_t k) __attribute__((always_inline)) {
    Lanes columns[kColumns], row;
    for (int j = 0; j < kColumns; ++j) load_once<kRows * kColumns != 1>(w + j * depth + k, columns[j]);
    for (int i = 0; i < kRows; ++i) {
      load_once<kRows * kColumns != 1>(x + i * depth + k, row);
      for (int j = 0; j < kColumns; ++j) sums[i][j] += row * columns[j];
    }
  };
  std::int64_t k = 0;
  for (; k + kTogether <= depth; k += kTogether) {
    if (ahead != 0) {
      for (int j = 0; j < kColumns; ++j)
        for (std::int64_t at = 0; at < kTogether; at += kLine) __builtin_prefetch(w + j * depth + k + at + ahead, 0, 2);
    }
#pragma GCC unroll 4
    for (std::int64_t at = 0; at < kTogether; at += kVector) add(k + at);
  }
  for (; k + kVector <= depth; k += kVector) add(k);
  if (k < depth) {
    Lanes column, row;
    for (int j = 0; j < kColumns; ++j) {
      load_some(w + j * depth + k, depth - k, column);
      for (int i = 0; i < kRows; ++i) {
        load_some(x + i * depth + k, depth - k, row);
        sums[i][j] += row * column;
      }
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) y[i * stride + j] = sum_of_lanes(sums[i][j]);
}

/// y (kRows, stride) for the columns whose numbers begin at w: y[i] = x (kRows, depth) · w (columns, depth)ᵀ.
template <int kRows, typename Number>
[[gnu::always_inline]] inline void dot_row_group(const float* x, const Number* w, std::int64_t columns,
                                                 std::int64_t depth, float* y, std::int64_t stride) {
  std::int64_t j = 0;
  if constexpr (kRows > kUnaided) {
    const std::int64_t two = 2 * depth, bytes = two * static_cast<std::int64_t>(sizeof(Number));
    const std::int64_t ahead = (kAhead + bytes - 1) / bytes * two;  // prefetching past the end is harmless
    for (; j + 2 <= columns; j += 2) dot_block<kRows, 2>(x, w + j * depth, depth, ahead, y + j, stride);
  }
  for (; j < columns; ++j) dot_block<kRows, 1>(x, w + j * depth, depth, 0, y + j, stride);
}

/// Multiplies row by row: y (rows, stride) for the columns whose numbers begin at w.
template <typename Number>
[[gnu::always_inline]] inline void dot_each_row(const float* x, std::int64_t rows, const Number* w,
                                                std::int64_t columns, std::int64_t depth, float* y,
                                                std::int64_t stride) {
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      dot_block<1, 1>(x + i * depth, w + j * depth, depth, 0, y + i * stride + j, stride);
}

ATTN_VECTORIZED(void, dot_each_float32, const float* x, std::int64_t rows, const float* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride) {
  dot_each_row(x, rows, w, columns, depth, y, stride);
}
ATTN_VECTORIZED(void, dot_each_bfloat16, const float* x, std::int64_t rows, const std::uint16_t* w,
                std::int64_t columns, std::int64_t depth, float* y, std::int64_t stride) {
  dot_each_row(x, rows, w, columns, depth, y, stride);
}
ATTN_VECTORIZED(void, dot_each_float16, const float* x, std::int64_t rows, const Float16* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride) {
  dot_each_row(x, rows, w, columns, depth, y, stride);
}

#if defined(__x86_64__) && defined(__GNUC__)
/// Multiplies kRows rows at a time, which only AVX-512 has the registers for.
template <int kRows, typename Number>
[[gnu::target("arch=x86-64-v4")]] void dot_all_rows(const float* x, const Number* w, std::int64_t columns,
                                                    std::int64_t depth, float* y, std::int64_t stride) {
  dot_row_group<kRows>(x, w, columns, depth, y, stride);
}

template <typename Number>
bool dot_shared(const float* x, std::int64_t rows, const Number* w, std::int64_t columns, std::int64_t depth, float* y,
                std::int64_t stride) {
  static constexpr auto kByRows = []<int... kBefore>(std::integer_sequence<int, kBefore...>) {
    return std::array{dot_all_rows<kBefore + 2, Number>...};
  }
  (std::make_integer_sequence<int, kMostGemvRows - 1>());
  if (rows < 2 || isa() < Isa::avx512) return false;
  kByRows[static_cast<std::size_t>(rows - 2)](x, w, columns, depth, y, stride);
  return true;
}
#else
bool dot_shared(...) { return false; }
#endif

class Gemv final : public Kernel {
 public:
  explicit Gemv(const Step& step) : x_(step.inputs[0]), w_(step.inputs[1]), y_(step.outputs[0]) {
    width_ = w_.shape[0];
    depth_ = w_.shape[1];
    // With few rows, the bandwidth of the weight limits the time.
    const double bytes = static_cast<double>(bytes_of(w_.dtype)) * static_cast<double>(w_.size());
    team_ = step.engine.team_for(4.0 * bytes);
  }

  void run() override {
    switch (w_.dtype) {
      case DType::bfloat16:
        return run_as<std::uint16_t>(dot_each_bfloat16);
      case DType::float16:
        return run_as<Float16>(dot_each_float16);
      default:
        return run_as<float>(dot_each_float32);
    }
  }

  [[nodiscard]] std::string_view name() const override { return "gemv"; }

 private:
  template <typename Number, typename EachRow>
  void run_as(const EachRow& dot_each) {
    const std::int64_t rows = x_.size() / depth_;
    parallel_ranges(width_, team_, [&](std::int64_t begin, std::int64_t end) {
      const float* const x = x_.data<float>();
      const Number* const w = w_.data<Number>() + begin * depth_;
      float* const y = y_.data<float>() + begin;
      if (!dot_shared(x, rows, w, end - begin, depth_, y, width_)) {
        dot_each(x, rows, w, end - begin, depth_, y, width_);
      }
    });
  }

  Operand x_, w_, y_;
  std::int64_t width_, depth_;
  Team team_;
};

}  // namespace

std::string why_not_gemv(const StepInfo& step) {
  const auto& op = step.op<graph::MatMul>();
  const Shape &x = step.inputs[0].shape, &w = step.inputs[1].shape;
  if (!step.is_fixed(1) || w.rank() != 2 || x.rank() < 2) return "the right side is not a weight of rank 2";
  if (op.transpose_x || !op.transpose_y) return "the weight's columns are not contiguous";
  return x.slice(0, x.rank() - 1).size() <= kMostGemvRows ? "" : "with many rows a packed weight is faster";
}

std::unique_ptr<Kernel> make_gemv(const Step& step) { return std::make_unique<Gemv>(step); }

}  // namespace attn::backends::cpu
