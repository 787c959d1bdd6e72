// Operations that move elements: each is one or several copies between two strided views.
#include <algorithm>
#include <array>
#include <cstring>

#include "attn/backends/reference.h"
#include "attn/graph/range.h"
#include "kernel.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

/// to[to_start + Σ iₐ·to_strideₐ] = from[from_start + Σ iₐ·from_strideₐ], for elements of any width.
class StridedCopy {
 public:
  struct Axis {
    Dim size;
    std::int64_t from, to;  ///< strides, in elements
  };

  StridedCopy(std::int64_t width, const std::vector<Axis>& axes, std::int64_t from_start, std::int64_t to_start)
      : width_(width), from_start_(from_start * width), to_start_(to_start * width) {
    for (const Axis& axis : axes) {
      if (axis.size == 1) continue;
      const bool joins =
          !axes_.empty() && axes_.back().from == axis.from * axis.size && axes_.back().to == axis.to * axis.size;
      if (joins) {
        axes_.back() = {axes_.back().size * axis.size, axis.from, axis.to};
      } else {
        axes_.push_back(axis);
      }
    }
    // A last axis that is dense on both sides is copied as one block of bytes.
    block_ = width;
    if (!axes_.empty() && axes_.back().from == 1 && axes_.back().to == 1) {
      block_ = axes_.back().size * width;
      axes_.pop_back();
    }
    for (const Axis& axis : axes_) copies_ *= axis.size;
    if (axes_.empty()) return;
    inner_ = axes_.back();
    axes_.pop_back();
    for (const Axis& axis : axes_) outer_ *= axis.size;
  }

  [[nodiscard]] double bytes() const { return static_cast<double>(copies_ * block_); }

  void run(const std::byte* from, std::byte* to, const Team& team) const {
    parallel_ranges(outer_, team, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) copy_row(i, from + from_start_, to + to_start_);
    });
  }

 private:
  /// Copies along the innermost axis; i is the index of the other axes.
  void copy_row(std::int64_t i, const std::byte* from, std::byte* to) const {
    for (std::size_t a = axes_.size(); a-- > 0;) {
      const Dim index = i % axes_[a].size;
      i /= axes_[a].size;
      from += index * axes_[a].from * width_;
      to += index * axes_[a].to * width_;
    }
    const std::int64_t from_step = inner_.from * width_, to_step = inner_.to * width_;
    switch (block_) {
      case 2:
        return copy_blocks<2>(from, from_step, to, to_step);
      case 4:
        return copy_blocks<4>(from, from_step, to, to_step);
      default:
        break;
    }
    for (Dim j = 0; j < inner_.size; ++j) {
      std::memcpy(to + j * to_step, from + j * from_step, static_cast<std::size_t>(block_));
    }
  }

  /// Copies blocks whose size is a compile-time constant, so that each copy is one instruction.
  template <std::size_t kBytes>
  void copy_blocks(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step) const {
    for (Dim j = 0; j < inner_.size; ++j) std::memcpy(to + j * to_step, from + j * from_step, kBytes);
  }

  std::int64_t width_, from_start_, to_start_, block_;
  std::vector<Axis> axes_;
  Axis inner_{1, 0, 0};
  std::int64_t outer_ = 1, copies_ = 1;
};

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()));
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

/// Copies each input into the single output.
class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const Step& step) : from_(step.inputs), to_(step.outputs[0]), engine_(step.engine) {}

  void add(StridedCopy copy) {
    teams_.push_back(engine_.team_for(copy.bytes()));
    copies_.push_back(std::move(copy));
  }
  /// Makes run() fill the output with this element first.
  void set_background(const std::vector<std::byte>& element) {
    while (background_.size() < kBackground) background_.insert(background_.end(), element.begin(), element.end());
    element_ = static_cast<std::int64_t>(element.size());
    fill_team_ = engine_.team_for(static_cast<double>(to_.size() * element_));
  }

  void run() override {
    if (!background_.empty()) fill();
    for (std::size_t n = 0; n < copies_.size(); ++n) {
      if (from_[n].size() > 0) copies_[n].run(from_[n].data<std::byte>(), to_.data<std::byte>(), teams_[n]);
    }
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  static constexpr std::size_t kBackground = 4096;  // bytes that are filled at once

  void fill() const {
    parallel_ranges(to_.size(), fill_team_, [&](std::int64_t begin, std::int64_t end) {
      std::byte* const to = to_.data<std::byte>();
      const auto most = static_cast<std::int64_t>(background_.size());
      for (std::int64_t i = begin * element_; i < end * element_; i += most)
        std::memcpy(to + i, background_.data(), static_cast<std::size_t>(std::min(most, end * element_ - i)));
    });
  }

  std::vector<Operand> from_;
  Operand to_;
  Engine& engine_;
  std::vector<StridedCopy> copies_;  // for each input
  std::vector<Team> teams_;
  std::vector<std::byte> background_;  // the element, repeated
  std::int64_t element_ = 0;
  Team fill_team_;
};

/// Gathers table[:axis] + indices + table[axis+1:], copying whole rows of the table.
class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const Step& step)
      : node_(step.node), graph_(step.graph), table_(step.inputs[0]), indices_(step.inputs[1]), out_(step.outputs[0]) {
    const auto& op = step.op<graph::Gather>();
    const Shape& table = table_.shape;
    outer_ = table.slice(0, op.axis).size();
    entries_ = table[op.axis];
    row_bytes_ = table.slice(op.axis + 1, table.rank()).size() * bytes_of(table_.dtype);
  }

  void run() override {
    const std::int64_t count = indices_.size();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t wanted = index(i);
      const std::int64_t entry = wanted < 0 ? wanted + entries_ : wanted;
      if (entry < 0 || entry >= entries_) return refuse();
      for (std::int64_t o = 0; o < outer_; ++o) {
        std::memcpy(out_.data<std::byte>() + (o * count + i) * row_bytes_,
                    table_.data<std::byte>() + (o * entries_ + entry) * row_bytes_,
                    static_cast<std::size_t>(row_bytes_));
      }
    }
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  [[nodiscard]] std::int64_t index(std::int64_t i) const {
    return indices_.dtype == DType::int64 ? indices_.data<std::int64_t>()[i] : indices_.data<std::int32_t>()[i];
  }

  /// Throws the reference backend's error for the first invalid index, by running the reference loop.
  void refuse() const {
    const std::array inputs{view_of(table_), view_of(indices_)};
    const std::array outputs{view_of(out_)};
    evaluate(node_, graph_, inputs, outputs);
  }

  const graph::Node& node_;
  const graph::Graph& graph_;
  Operand table_, indices_, out_;
  std::int64_t outer_, entries_, row_bytes_;
};

std::unique_ptr<Kernel> make_reshape(const Step& step) {
  auto kernel = std::make_unique<CopyKernel>(step);
  kernel->add({bytes_of(step.inputs[0].dtype), {{step.inputs[0].size(), 1, 1}}, 0, 0});
  return kernel;
}

std::unique_ptr<Kernel> make_transpose(const Step& step) {
  const auto& op = step.op<graph::Transpose>();
  const auto from = strides_of(step.inputs[0].shape), to = strides_of(step.outputs[0].shape);
  std::vector<StridedCopy::Axis> axes;
  for (std::size_t a = 0; a < to.size(); ++a) {
    axes.push_back({step.outputs[0].shape[static_cast<int>(a)], from[at(op.permutation[a])], to[a]});
  }
  auto kernel = std::make_unique<CopyKernel>(step);
  kernel->add({bytes_of(step.inputs[0].dtype), axes, 0, 0});
  return kernel;
}

std::unique_ptr<Kernel> make_broadcast(const Step& step) {
  const Shape& x = step.inputs[0].shape;
  const Shape& y = step.outputs[0].shape;
  const auto from = strides_of(x), to = strides_of(y);
  std::vector<StridedCopy::Axis> axes;
  for (int axis = 0; axis < y.rank(); ++axis) {
    const int own = axis + x.rank() - y.rank();
    const bool repeats = own < 0 || x[own] == 1;
    axes.push_back({y[axis], repeats ? 0 : from[at(own)], to[at(axis)]});
  }
  auto kernel = std::make_unique<CopyKernel>(step);
  kernel->add({bytes_of(step.inputs[0].dtype), axes, 0, 0});
  return kernel;
}

std::unique_ptr<Kernel> make_concat(const Step& step) {
  const auto& op = step.op<graph::Concat>();
  auto kernel = std::make_unique<CopyKernel>(step);
  const auto to = strides_of(step.outputs[0].shape);
  Dim begin = 0;
  for (const Operand& part : step.inputs) {
    const auto from = strides_of(part.shape);
    std::vector<StridedCopy::Axis> axes;
    for (int axis = 0; axis < part.shape.rank(); ++axis)
      axes.push_back({part.shape[axis], from[at(axis)], to[at(axis)]});
    kernel->add({bytes_of(part.dtype), axes, 0, begin * to[at(op.axis)]});
    begin += part.shape[op.axis];
  }
  return kernel;
}

std::unique_ptr<Kernel> make_slice(const Step& step) {
  const auto& op = step.op<graph::Slice>();
  const Shape& x = step.inputs[0].shape;
  const auto from = strides_of(x), to = strides_of(step.outputs[0].shape);
  std::vector<StridedCopy::Axis> axes;
  std::int64_t start = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const graph::ResolvedSlice picked = graph::pick(op.ranges[at(axis)], x[axis]);
    start += picked.start * from[at(axis)];
    axes.push_back({picked.count, picked.step * from[at(axis)], to[at(axis)]});
  }
  auto kernel = std::make_unique<CopyKernel>(step);
  kernel->add({bytes_of(step.inputs[0].dtype), axes, start, 0});
  return kernel;
}

std::unique_ptr<Kernel> make_pad(const Step& step) {
  const auto& op = step.op<graph::Pad>();
  const Operand& x = step.inputs[0];
  const auto from = strides_of(x.shape), to = strides_of(step.outputs[0].shape);
  std::vector<StridedCopy::Axis> axes;
  std::int64_t start = 0;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    start += op.before[at(axis)] * to[at(axis)];
    axes.push_back({x.shape[axis], from[at(axis)], to[at(axis)]});
  }
  auto kernel = std::make_unique<CopyKernel>(step);
  std::vector<std::byte> element(static_cast<std::size_t>(bytes_of(x.dtype)));
  Tensor::store(x.dtype, element.data(), 0, op.value);
  kernel->set_background(element);
  kernel->add({bytes_of(x.dtype), axes, 0, start});
  return kernel;
}

std::unique_ptr<Kernel> make_scatter(const Step& step) {
  const auto& op = step.op<graph::Scatter>();
  const Operand& x = step.inputs[0];
  const auto from = strides_of(x.shape), to = strides_of(op.shape);
  std::vector<StridedCopy::Axis> axes;
  std::int64_t start = 0;
  for (int axis = 0; axis < op.shape.rank(); ++axis) {
    const graph::ResolvedSlice picked = graph::pick(op.ranges[at(axis)], op.shape[axis]);
    start += picked.start * to[at(axis)];
    axes.push_back({x.shape[axis], from[at(axis)], picked.step * to[at(axis)]});
  }
  auto kernel = std::make_unique<CopyKernel>(step);
  kernel->set_background(std::vector<std::byte>(static_cast<std::size_t>(bytes_of(x.dtype))));
  kernel->add({bytes_of(x.dtype), axes, 0, start});
  return kernel;
}

std::string why_not_pad(const StepInfo& step) {
  const bool is_constant = step.op<graph::Pad>().mode == graph::PadMode::constant;
  return is_constant ? "" : "no kernel here for mirrored or repeated edges";
}

std::string why_not_gather(const StepInfo& step) {
  const DType indices = step.inputs[1].dtype;
  const bool takes = indices == DType::int32 || indices == DType::int64;
  return takes ? "" : "no kernel here for indices of this dtype";
}

}  // namespace

Kernels kernels_of(const graph::Reshape&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, takes_all, no_memory, make_reshape}};
  return kKernels;
}

Kernels kernels_of(const graph::Transpose&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, takes_all, no_memory, make_transpose}};
  return kKernels;
}

Kernels kernels_of(const graph::Broadcast&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, takes_all, no_memory, make_broadcast}};
  return kKernels;
}

Kernels kernels_of(const graph::Concat&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, takes_all, no_memory, make_concat}};
  return kKernels;
}

Kernels kernels_of(const graph::Slice&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, takes_all, no_memory, make_slice}};
  return kKernels;
}

Kernels kernels_of(const graph::Pad&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not_pad, no_memory, make_pad}};
  return kKernels;
}

Kernels kernels_of(const graph::Scatter&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, takes_all, no_memory, make_scatter}};
  return kKernels;
}

Kernels kernels_of(const graph::Gather&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::any, why_not_gather, no_memory, make_as<GatherKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
