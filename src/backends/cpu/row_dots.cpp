// A few rows by a weight whose columns lie one behind the other, as an embedding's rows do that are multiplied to
// logits: each is read once, where it is, and nothing is packed.
#include "row_dots.h"

#include <type_traits>

#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// More rows gain by a packed copy.
constexpr std::int64_t kMostRows = 8;

constexpr int kSums = 4;            // so that one sum does not wait for the last
constexpr std::int64_t kAhead = 2;  // pairs of columns further on is what is fetched meanwhile

/// One load for several products: of a plain one GCC 12 makes an operand of each, and loads as often.
template <typename Number>
[[gnu::always_inline]] inline void load_once(const Number* from, Lanes& to) {
  if constexpr (std::is_same_v<Number, float>) {
    using Unaligned [[gnu::aligned(alignof(float)), gnu::may_alias]] = Lanes;
    to = *reinterpret_cast<const volatile Unaligned*>(from);
  } else {
    load(from, to);
  }
}

/// Some rows of x by some columns of w, each of which is read once for all of them: y[i * stride + j] = x[i] · w[j]. A
/// number of y is the same sum in the same order however many rows and columns there are.
template <int kRows, int kColumns, typename Number>
[[gnu::always_inline]] inline void dot_block(const float* x, const Number* w, std::int64_t depth, float* y,
                                             std::int64_t stride) {
  Lanes sums[kRows][kColumns][kSums]{};
  constexpr std::int64_t kVector = kLanes, kTogether = kSums * kVector;
  const std::int64_t whole = depth / kTogether * kTogether;
  for (std::int64_t k = 0; k < whole; k += kTogether) {
    for (int s = 0; s < kSums; ++s) {
      Lanes rows[kRows], column;
      for (int i = 0; i < kRows; ++i) load_once(x + i * depth + k + s * kVector, rows[i]);
      for (int j = 0; j < kColumns; ++j) {
        load_once(w + j * depth + k + s * kVector, column);
        for (int i = 0; i < kRows; ++i) sums[i][j][s] += rows[i] * column;
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      Lanes rest{}, a, b;
      for (std::int64_t k = whole; k < depth; k += kLanes) {
        load_some(x + i * depth + k, depth - k, a);
        load_some(w + j * depth + k, depth - k, b);
        rest += a * b;
      }
      const Lanes(&of)[kSums] = sums[i][j];
      y[i * stride + j] = sum_of_lanes(((of[0] + of[1]) + (of[2] + of[3])) + rest);
    }
  }
}

/// Fetches a part of the columns that come kAhead pairs behind those at w: that of rows i and i + 1 of `rows`.
template <typename Number>
[[gnu::always_inline]] inline void fetch(const Number* w, std::int64_t numbers, std::int64_t i, std::int64_t rows) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t bytes = numbers * static_cast<std::int64_t>(sizeof(Number));
  const char* const from = reinterpret_cast<const char*>(w) + kAhead * bytes;
  for (std::int64_t at = bytes * i / rows; at < bytes * (i + 2) / rows; at += kLine)
    __builtin_prefetch(from + at, 0, 2);
}

/// y (rows, stride) of the columns whose numbers begin at w: y[i] = x (rows, depth) · w (columns, depth)ᵀ. In pairs of
/// rows and columns where there are registers enough and `pairs` says so.
template <typename Number>
[[gnu::always_inline]] inline void dot_columns(const float* x, std::int64_t rows, const Number* w, std::int64_t columns,
                                               std::int64_t depth, float* y, std::int64_t stride, bool pairs) {
  std::int64_t j = 0;
  for (; pairs && j + 2 <= columns; j += 2) {
    std::int64_t i = 0;
    for (; i + 2 <= rows; i += 2) {
      // Nothing is read there: it may lie behind the last column.
      fetch(w + j * depth, 2 * depth, i, rows);
      dot_block<2, 2>(x + i * depth, w + j * depth, depth, y + i * stride + j, stride);
    }
    for (; i < rows; ++i) dot_block<1, 2>(x + i * depth, w + j * depth, depth, y + i * stride + j, stride);
  }
  for (; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      dot_block<1, 1>(x + i * depth, w + j * depth, depth, y + i * stride + j, stride);
}

ATTN_VECTORIZED(void, dot_float32, const float* x, std::int64_t rows, const float* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride, bool pairs) {
  dot_columns(x, rows, w, columns, depth, y, stride, pairs);
}
ATTN_VECTORIZED(void, dot_bfloat16, const float* x, std::int64_t rows, const std::uint16_t* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride, bool pairs) {
  dot_columns(x, rows, w, columns, depth, y, stride, pairs);
}
ATTN_VECTORIZED(void, dot_float16, const float* x, std::int64_t rows, const Float16* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride, bool pairs) {
  dot_columns(x, rows, w, columns, depth, y, stride, pairs);
}

class RowDots final : public Kernel {
 public:
  explicit RowDots(const Step& step) : x_(step.inputs[0]), w_(step.inputs[1]), y_(step.outputs[0]) {
    width_ = w_.shape[0];
    depth_ = w_.shape[1];
    // Few rows wait for the weights' bytes more than for the multipliers.
    const double bytes = static_cast<double>(bytes_of(w_.dtype)) * static_cast<double>(w_.size());
    team_ = step.engine.team_for(4.0 * bytes);
  }

  void run() override {
    const std::int64_t rows = x_.size() / depth_;
    const bool pairs = rows > 1 && isa() >= Isa::avx512;
    parallel_ranges(width_, team_, [&](std::int64_t begin, std::int64_t end) {
      const float* const x = x_.data<float>();
      float* const y = y_.data<float>() + begin;
      const std::int64_t at = begin * depth_, columns = end - begin;
      switch (w_.dtype) {
        case DType::bfloat16:
          return dot_bfloat16(x, rows, w_.data<std::uint16_t>() + at, columns, depth_, y, width_, pairs);
        case DType::float16:
          return dot_float16(x, rows, w_.data<Float16>() + at, columns, depth_, y, width_, pairs);
        default:
          return dot_float32(x, rows, w_.data<float>() + at, columns, depth_, y, width_, pairs);
      }
    });
  }

  [[nodiscard]] std::string_view name() const override { return "row dots"; }

 private:
  Operand x_, w_, y_;
  std::int64_t width_, depth_;
  Team team_;
};

}  // namespace

std::string why_not_row_dots(const StepInfo& step) {
  const auto& op = step.op<graph::MatMul>();
  const Shape &x = step.inputs[0].shape, &w = step.inputs[1].shape;
  if (!step.is_fixed(1) || w.rank() != 2 || x.rank() < 2) return "the right side is no weight of rank 2";
  if (op.transpose_x || !op.transpose_y) return "the weight's columns do not lie one behind the other";
  return x.slice(0, x.rank() - 1).size() <= kMostRows ? "" : "many rows gain by a packed weight";
}

std::unique_ptr<Kernel> make_row_dots(const Step& step) { return std::make_unique<RowDots>(step); }

}  // namespace attn::backends::cpu
