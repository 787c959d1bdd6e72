#include "small_matmul.h"

#include <algorithm>
#include <vector>

#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::onednn {
namespace {

constexpr std::int64_t kRows = 6;  // 12 of 32 registers hold sums, enough to hide the latency of an addition

template <int kCount>
[[gnu::always_inline]] inline void multiply_rows(const float* x, std::int64_t row_x, std::int64_t column_x,
                                                 const float* panel, std::int64_t depth, float* y,
                                                 std::int64_t stride_y) {
  Lanes left[kCount], right[kCount];
  for (int r = 0; r < kCount; ++r) left[r] = right[r] = Lanes{};
  for (std::int64_t k = 0; k < depth; ++k) {
    Lanes a, b;
    load(panel + k * kPanel, a);
    load(panel + k * kPanel + kLanes, b);
    for (int r = 0; r < kCount; ++r) {
      const float factor = x[r * row_x + k * column_x];
      left[r] += factor * a;
      right[r] += factor * b;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    store(left[r], y + r * stride_y);
    store(right[r], y + r * stride_y + kLanes);
  }
}

/// x·y over batches, y packed panel by panel by the thread that needs it.
class SmallMatmul final : public Kernel {
 public:
  SmallMatmul(const graph::MatMul& op, const Step& step) : x_(step.inputs[0]), y_(step.inputs[1]), z_(step.outputs[0]) {
    const Side left(x_.shape, op.transpose_x, true), right(y_.shape, op.transpose_y, false);
    rows_ = left.rows;
    depth_ = left.columns;
    width_ = right.columns;
    row_x_ = left.row_stride;
    column_x_ = left.column_stride;
    row_y_ = right.row_stride;
    column_y_ = right.column_stride;
    const Shape batch = *broadcast(left.batch, right.batch);
    x_starts_ = starts(left, batch);
    y_starts_ = starts(right, batch);
    panels_ = (width_ + kPanel - 1) / kPanel;
    const double work = 2.0 * static_cast<double>(z_.size()) * static_cast<double>(depth_);
    threads_ = threads_for(work, step.engine.threads);
    scratch_.resize(static_cast<std::size_t>(threads_ * depth_ * kPanel));
  }

  void run() override {
    const auto batches = static_cast<std::int64_t>(x_starts_.size());
    parallel_for(batches * panels_, threads_, [&](std::int64_t item, int thread) {
      const std::int64_t b = item / panels_, column = item % panels_ * kPanel;
      const std::int64_t width = std::min(kPanel, width_ - column);
      float* const panel = scratch_.data() + thread * depth_ * kPanel;
      const auto at = static_cast<std::size_t>(b);
      pack_panel(y_.data<float>() + y_starts_[at] + column * column_y_, row_y_, column_y_, depth_, width, panel);
      multiply_part(x_.data<float>() + x_starts_[at], row_x_, column_x_, panel, rows_, depth_, width,
                    z_.data<float>() + b * rows_ * width_ + column, width_);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>(scratch_.size() * sizeof(float));
  }

 private:
  /// One side as matrices (rows, columns) under batch axes. A vector is a row on the left, a column on the right.
  struct Side {
    Side(const Shape& shape, bool transposed, bool vector_is_row) {
      if (shape.rank() == 1) {
        (vector_is_row ? columns : rows) = shape[0];
        (vector_is_row ? column_stride : row_stride) = 1;
        return;
      }
      batch = shape.slice(0, shape.rank() - 2);
      rows = shape[-2];
      columns = shape[-1];
      row_stride = columns;
      column_stride = 1;
      if (!transposed) return;
      std::swap(rows, columns);
      std::swap(row_stride, column_stride);
    }
    Shape batch;
    Dim rows = 1, columns = 1;
    std::int64_t row_stride = 0, column_stride = 0;
  };

  /// Where the matrix of a side begins for each index of the batch axes.
  static std::vector<std::int64_t> starts(const Side& side, const Shape& batch) {
    std::vector<std::int64_t> result{0};
    std::int64_t stride = side.rows * side.columns;
    std::vector<std::int64_t> strides(static_cast<std::size_t>(batch.rank()), 0);
    for (int axis = side.batch.rank() - 1; axis >= 0; --axis) {
      const int in_batch = axis + batch.rank() - side.batch.rank();
      if (side.batch[axis] != 1) strides[static_cast<std::size_t>(in_batch)] = stride;
      stride *= side.batch[axis];
    }
    for (int axis = 0; axis < batch.rank(); ++axis) {
      std::vector<std::int64_t> longer;
      for (const std::int64_t start : result) {
        for (Dim i = 0; i < batch[axis]; ++i) longer.push_back(start + i * strides[static_cast<std::size_t>(axis)]);
      }
      result = std::move(longer);
    }
    return result;
  }

  Operand x_, y_, z_;
  std::int64_t rows_ = 0, depth_ = 0, width_ = 0, panels_ = 0;
  std::int64_t row_x_ = 0, column_x_ = 0, row_y_ = 0, column_y_ = 0;
  std::vector<std::int64_t> x_starts_, y_starts_;
  int threads_ = 1;
  std::vector<float> scratch_;  // a panel per thread
};

}  // namespace

ATTN_VECTORIZED void multiply_panel(const float* x, std::int64_t row_x, std::int64_t column_x, const float* panel,
                                    std::int64_t rows, std::int64_t depth, float* y, std::int64_t stride_y) {
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    multiply_rows<kRows>(x + i * row_x, row_x, column_x, panel, depth, y + i * stride_y, stride_y);
  }
  x += i * row_x;
  y += i * stride_y;
  switch (rows - i) {
    case 5:
      return multiply_rows<5>(x, row_x, column_x, panel, depth, y, stride_y);
    case 4:
      return multiply_rows<4>(x, row_x, column_x, panel, depth, y, stride_y);
    case 3:
      return multiply_rows<3>(x, row_x, column_x, panel, depth, y, stride_y);
    case 2:
      return multiply_rows<2>(x, row_x, column_x, panel, depth, y, stride_y);
    case 1:
      return multiply_rows<1>(x, row_x, column_x, panel, depth, y, stride_y);
    default:
      return;
  }
}

void multiply_part(const float* x, std::int64_t row_x, std::int64_t column_x, const float* panel, std::int64_t rows,
                   std::int64_t depth, std::int64_t width, float* y, std::int64_t stride_y) {
  if (width == kPanel) return multiply_panel(x, row_x, column_x, panel, rows, depth, y, stride_y);
  float block[kRows * kPanel];
  for (std::int64_t i = 0; i < rows; i += kRows) {
    const std::int64_t count = std::min(kRows, rows - i);
    multiply_panel(x + i * row_x, row_x, column_x, panel, count, depth, block, kPanel);
    for (std::int64_t r = 0; r < count; ++r) std::copy_n(block + r * kPanel, width, y + (i + r) * stride_y);
  }
}

void pack_panel(const float* from, std::int64_t row, std::int64_t column, std::int64_t depth, std::int64_t width,
                float* panel) {
  if (width < kPanel) std::fill_n(panel, depth * kPanel, 0.0F);
  if (column == 1) {
    for (std::int64_t k = 0; k < depth; ++k) std::copy_n(from + k * row, width, panel + k * kPanel);
  } else {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t j = 0; j < width; ++j) panel[k * kPanel + j] = from[k * row + j * column];
    }
  }
}

std::unique_ptr<Kernel> make_small_matmul(const graph::MatMul& op, const Step& step) {
  return std::make_unique<SmallMatmul>(op, step);
}

}  // namespace attn::backends::onednn
