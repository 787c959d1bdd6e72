// Products of two matrices that change between runs.
#include "matmul.h"

#include <algorithm>
#include <vector>

#include "dynamic_gemm_bfloat16.h"
#include "kernel.h"
#include "panels.h"

namespace attn::backends::cpu {
namespace {

/// x·y over batches. Each thread packs the panels of y that it needs.
class MatmulKernel final : public Kernel {
 public:
  explicit MatmulKernel(const Step& step)
      : engine_(step.engine), x_(step.inputs[0]), y_(step.inputs[1]), z_(step.outputs[0]) {
    const auto& op = step.op<graph::MatMul>();
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
    team_ = step.engine.team_for(work);
    engine_.scratch.reserve(team_.threads * depth_ * kPanel * bytes_of(DType::float32));
  }

  void run() override {
    const auto batches = static_cast<std::int64_t>(x_starts_.size());
    parallel_for(batches * panels_, team_, [&](std::int64_t item, int thread) {
      const std::int64_t b = item / panels_, column = item % panels_ * kPanel;
      const std::int64_t width = std::min(kPanel, width_ - column);
      float* const panel = reinterpret_cast<float*>(engine_.scratch.get()) + thread * depth_ * kPanel;
      const auto at = static_cast<std::size_t>(b);
      const float* const y = y_.data<float>() + y_starts_[at] + column * column_y_;
      pack_panel({y, row_y_, column_y_}, depth_, width, panel);
      multiply_panel({.x = {x_.data<float>() + x_starts_[at], row_x_, column_x_},
                      .panel = panel,
                      .rows = rows_,
                      .depth = depth_,
                      .y = z_.data<float>() + b * rows_ * width_ + column,
                      .stride = width_,
                      .columns = width});
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  /// An operand as matrices (rows, columns) with batch axes. A vector is one row on the left, and one column on the
  /// right.
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

  /// Returns the offset of an operand's matrix for each index of the batch axes.
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

  Engine& engine_;
  Operand x_, y_, z_;
  std::int64_t rows_ = 0, depth_ = 0, width_ = 0, panels_ = 0;
  std::int64_t row_x_ = 0, column_x_ = 0, row_y_ = 0, column_y_ = 0;
  std::vector<std::int64_t> x_starts_, y_starts_;
  Team team_;
};

DynamicGemmSize size_of_single(const StepInfo& step) {
  const auto& op = step.op<graph::MatMul>();
  const Shape& x = step.inputs[0].shape;
  const Shape& y = step.inputs[1].shape;
  DynamicGemmSize size{};
  size.transpose_x = op.transpose_x;
  size.transpose_y = op.transpose_y;
  size.depth = op.transpose_x ? x[-2] : x.back();
  size.rows = x.size() / size.depth;
  size.width = y[op.transpose_y ? -2 : -1];
  return size;
}

template <typename Gemm, typename Number>
class SingleMatmul final : public Kernel {
 public:
  explicit SingleMatmul(const Step& step)
      : x_(step.inputs[0]), y_(step.inputs[1]), z_(step.outputs[0]), product_(step.engine, size_of_single(step)) {}

  void run() override { product_.run(x_.data<Number>(), y_.data<Number>(), nullptr, nullptr, z_.data<Number>()); }
  [[nodiscard]] std::string_view name() const override { return product_.name(); }
  [[nodiscard]] std::int64_t bytes() const override { return product_.bytes(); }

 private:
  Operand x_, y_, z_;
  Gemm product_;
};

}  // namespace

std::string why_not_single(const StepInfo& step) {
  const Shape& x = step.inputs[0].shape;
  const Shape& y = step.inputs[1].shape;
  if (x.rank() < 2 || y.rank() < 2) return "one side is a vector";
  const bool is_batched = y.slice(0, y.rank() - 2).size() != 1 ||
                          (step.op<graph::MatMul>().transpose_x && x.slice(0, x.rank() - 2).size() != 1);
  return is_batched ? "the products are batched" : "";
}

MemoryNeeds single_needs(const StepInfo& step) {
  return needs_of_dynamic_gemm<DynamicGemm>(size_of_single(step), step.machine.threads);
}

std::unique_ptr<Kernel> make_single(const Step& step) {
  return std::make_unique<SingleMatmul<DynamicGemm, float>>(step);
}

std::string why_not_single_half(const StepInfo& step) {
  const std::string why = why_not_dynamic_gemm_bfloat16(step.inputs[0].dtype, step.machine.multiplication);
  return why.empty() ? why_not_single(step) : why;
}

MemoryNeeds single_half_needs(const StepInfo& step) {
  return needs_of_dynamic_gemm<DynamicGemmBfloat16>(size_of_single(step), step.machine.threads);
}

std::unique_ptr<Kernel> make_single_half(const Step& step) {
  return std::make_unique<SingleMatmul<DynamicGemmBfloat16, std::uint16_t>>(step);
}

MemoryNeeds matmul_needs(const StepInfo& step) {
  const Shape& x = step.inputs[0].shape;
  const Dim depth = step.op<graph::MatMul>().transpose_x && x.rank() > 1 ? x[-2] : x.back();
  MemoryNeeds needs;
  needs.scratch = bytes_times({step.machine.threads, depth, kPanel, bytes_of(DType::float32)});
  return needs;
}

std::unique_ptr<Kernel> make_matmul(const Step& step) { return std::make_unique<MatmulKernel>(step); }

}  // namespace attn::backends::cpu
