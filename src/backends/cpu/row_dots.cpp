// A few rows by a weight whose columns lie one behind the other, as an embedding's rows do that are multiplied to
// logits: each is read once, where it is, and nothing is packed.
#include "row_dots.h"

#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// More rows gain by a packed copy.
constexpr std::int64_t kMostRows = 8;

/// y (rows, stride) of the columns whose numbers begin at w: y[i] = x (rows, depth) · w (columns, depth)ᵀ
template <typename Number>
[[gnu::always_inline]] inline void dot_columns(const float* x, std::int64_t rows, const Number* w, std::int64_t columns,
                                               std::int64_t depth, float* y, std::int64_t stride) {
  constexpr int kSums = 4;  // so that one sum does not wait for the last
  for (std::int64_t j = 0; j < columns; ++j) {
    const Number* const column = w + j * depth;
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* const row = x + i * depth;
      Lanes sums[kSums]{}, a, b;
      std::int64_t k = 0;
      for (; k + kSums * kLanes <= depth; k += kSums * kLanes) {
        for (int s = 0; s < kSums; ++s) {
          load(row + k + s * kLanes, a);
          load(column + k + s * kLanes, b);
          sums[s] += a * b;
        }
      }
      for (; k < depth; k += kLanes) {
        load_some(row + k, depth - k, a);
        load_some(column + k, depth - k, b);
        sums[0] += a * b;
      }
      y[i * stride + j] = sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
  }
}

ATTN_VECTORIZED(void, dot_float32, const float* x, std::int64_t rows, const float* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride) {
  dot_columns(x, rows, w, columns, depth, y, stride);
}
ATTN_VECTORIZED(void, dot_bfloat16, const float* x, std::int64_t rows, const std::uint16_t* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride) {
  dot_columns(x, rows, w, columns, depth, y, stride);
}
ATTN_VECTORIZED(void, dot_float16, const float* x, std::int64_t rows, const Float16* w, std::int64_t columns,
                std::int64_t depth, float* y, std::int64_t stride) {
  dot_columns(x, rows, w, columns, depth, y, stride);
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
    parallel_ranges(width_, team_, [&](std::int64_t begin, std::int64_t end) {
      const float* const x = x_.data<float>();
      float* const y = y_.data<float>() + begin;
      const std::int64_t at = begin * depth_, columns = end - begin;
      switch (w_.dtype) {
        case DType::bfloat16:
          return dot_bfloat16(x, rows, w_.data<std::uint16_t>() + at, columns, depth_, y, width_);
        case DType::float16:
          return dot_float16(x, rows, w_.data<Float16>() + at, columns, depth_, y, width_);
        default:
          return dot_float32(x, rows, w_.data<float>() + at, columns, depth_, y, width_);
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
