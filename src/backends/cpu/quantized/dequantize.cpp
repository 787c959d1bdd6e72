// Dequantization, one row of the last axis at a time: for the rows that an embedding looks up.
#include <algorithm>

#include "attn/backends/reference.h"
#include "attn/base/nibbles.h"
#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::Dequantize;

ATTN_VECTORIZED(void, widen_signed, const std::uint8_t* q, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = static_cast<float>(static_cast<std::int8_t>(q[i]));
}

ATTN_VECTORIZED(void, widen_unsigned, const std::uint8_t* q, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = static_cast<float>(q[i]);
}

void widen_nibbles(const std::uint8_t* q, bool is_signed, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i + 1 < size; i += 2) {
    y[i] = static_cast<float>(nibble(q[i / 2], false, is_signed));
    y[i + 1] = static_cast<float>(nibble(q[i / 2], true, is_signed));
  }
  if (size % 2 == 1) y[size - 1] = static_cast<float>(nibble(q[size / 2], false, is_signed));
}

ATTN_VECTORIZED(void, divide_by_one, float* y, float scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] /= scale;
}

ATTN_VECTORIZED(void, divide_by_each, float* y, const float* scale, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] /= scale[i];
}

template <typename Zero>
void scale_groups(const std::int32_t* groups, const Zero* zero, const float* scale, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = (y[i] - static_cast<float>(zero[groups[i]])) * scale[groups[i]];
}

class DequantizeKernel final : public Kernel {
 public:
  explicit DequantizeKernel(const Step& step)
      : node_(step.node), graph_(step.graph), inputs_(step.inputs), y_(step.outputs[0]) {
    const auto& op = step.op<Dequantize>();
    const Shape& shape = y_.shape;
    size_ = shape[-1];
    rows_ = y_.size() / size_;
    has_nibbles_ = op.nibbles.has_value();
    is_grouped_ = op.group_axis.has_value();
    const Shape& scale = inputs_[1].shape;
    if (is_grouped_) {
      count_ = scale[-1];
    } else {
      by_column_ = scale.rank() > 0 && scale[-1] != 1;
      // Strides of the scale over the axes of y before the last one; 0 along broadcast axes.
      std::int64_t stride = scale.rank() > 0 ? scale[-1] : 1;
      strides_.assign(static_cast<std::size_t>(shape.rank() - 1), 0);
      for (int axis = -2; axis >= -scale.rank(); --axis) {
        if (scale[axis] != 1) strides_.end()[axis + 1] = stride;
        stride *= scale[axis];
      }
    }
    constexpr double kWork = 4.0;  // rough number of operations per element
    team_ = step.engine.team_for(kWork * static_cast<double>(y_.size()));
  }

  void run() override {
    if (is_grouped_ && !has_groups()) return refuse();
    parallel_ranges(rows_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) run_row(row);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  void run_row(std::int64_t row) const {
    const bool is_signed = inputs_[0].dtype == DType::int8;
    const std::int64_t bytes = inputs_[0].shape[-1];
    const auto* const q = inputs_[0].data<std::uint8_t>() + row * bytes;
    float* const y = y_.data<float>() + row * size_;
    if (has_nibbles_) {
      widen_nibbles(q, is_signed, y, size_);
    } else {
      (is_signed ? widen_signed : widen_unsigned)(q, y, size_);
    }
    if (!is_grouped_) {
      const float* const scale = inputs_[1].data<float>() + scale_of(row);
      return by_column_ ? divide_by_each(y, scale, size_) : divide_by_one(y, *scale, size_);
    }
    const auto* const groups = inputs_[3].data<std::int32_t>();
    const float* const scale = inputs_[1].data<float>() + row * count_;
    const std::int64_t first = row * count_;
    switch (inputs_[2].dtype) {
      case DType::int8:
        return scale_groups(groups, inputs_[2].data<std::int8_t>() + first, scale, y, size_);
      case DType::uint8:
        return scale_groups(groups, inputs_[2].data<std::uint8_t>() + first, scale, y, size_);
      default:
        return scale_groups(groups, inputs_[2].data<float>() + first, scale, y, size_);
    }
  }

  /// Returns the offset of a row's scales.
  [[nodiscard]] std::int64_t scale_of(std::int64_t row) const {
    std::int64_t offset = 0;
    for (std::size_t axis = strides_.size(); axis-- > 0;) {
      const Dim size = y_.shape[static_cast<int>(axis)];
      offset += row % size * strides_[axis];
      row /= size;
    }
    return offset;
  }

  [[nodiscard]] bool has_groups() const {
    const auto* const groups = inputs_[3].data<std::int32_t>();
    return std::all_of(groups, groups + size_, [&](std::int32_t group) { return group >= 0 && group < count_; });
  }

  /// Throws the reference backend's error for the first invalid group, by running the reference loop.
  void refuse() const {
    std::vector<Tensor> inputs;
    for (const Operand& input : inputs_) inputs.push_back(view_of(input));
    const std::vector<Tensor> outputs{view_of(y_)};
    evaluate(node_, graph_, inputs, outputs);
  }

  const graph::Node& node_;
  const graph::Graph& graph_;
  std::vector<Operand> inputs_;
  Operand y_;
  std::int64_t size_ = 0, rows_ = 0, count_ = 0;
  bool has_nibbles_ = false, is_grouped_ = false, by_column_ = false;
  std::vector<std::int64_t> strides_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const auto& op = step.op<Dequantize>();
  const int last = step.outputs[0].shape.rank() - 1;
  if (last < 0) return "there is no axis";
  if (step.outputs[0].size() == 0) return "an output has no elements";
  if (step.inputs[1].dtype != DType::float32) return "it is not float32";
  if (op.nibbles && op.nibbles->axis != last) return "integers do not share bytes along the last axis";
  if (!op.group_axis) return "";
  if (*op.group_axis != last) return "groups are not along the last axis";
  const DType zero = step.inputs[2].dtype;
  const bool takes = zero == DType::int8 || zero == DType::uint8 || zero == DType::float32;
  return takes ? "" : "no kernel here for zero points of this dtype";
}

}  // namespace

Kernels kernels_of(const Dequantize&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not, no_memory, make_as<DequantizeKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
