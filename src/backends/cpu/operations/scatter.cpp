// The gradient of a lookup: adds rows to the indexed rows of a table.
#include <algorithm>
#include <array>
#include <vector>

#include "attn/backends/reference.h"
#include "kernel.h"
#include "loops.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

/// Adds updates to rows of a table. The updates are sorted by target row, stably, and each part of the table belongs to
/// one thread. No row is written by two threads, and sums do not depend on threads.
class ScatterAddKernel final : public Kernel {
 public:
  explicit ScatterAddKernel(const Step& step)
      : node_(step.node),
        graph_(step.graph),
        updates_(step.inputs[0]),
        indices_(step.inputs[1]),
        table_(step.outputs[0]),
        size_(step.op<graph::ScatterAdd>().size) {
    const int axis = step.op<graph::ScatterAdd>().axis;
    before_ = table_.shape.slice(0, axis).size();
    behind_ = table_.shape.slice(axis + 1, table_.shape.rank()).size();
    first_.resize(static_cast<std::size_t>(size_ + 1));
    order_.resize(static_cast<std::size_t>(indices_.size()));
    team_ = step.engine.team_for(static_cast<double>(4 * table_.size() + 8 * updates_.size()));
  }

  [[nodiscard]] static MemoryNeeds needs_of(const StepInfo& step) {
    MemoryNeeds needs;
    constexpr auto kNumber = static_cast<std::int64_t>(sizeof(std::int64_t));
    needs.held = bytes_times({step.op<graph::ScatterAdd>().size + 1 + step.inputs[1].size(), kNumber});
    return needs;
  }

  void run() override {
    if (!sort()) return refuse();
    const std::int64_t count = indices_.size();
    parallel_ranges(before_ * size_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t place = begin; place < end; ++place) {
        const std::int64_t entry = place % size_;
        const float* const from = updates_.data<float>() + place / size_ * count * behind_;
        float* const to = table_.data<float>() + place * behind_;
        const std::int64_t last = first_[static_cast<std::size_t>(entry) + 1];
        std::int64_t next = first_[static_cast<std::size_t>(entry)];
        if (next == last) {
          std::fill_n(to, behind_, 0.0F);
          continue;
        }
        std::copy_n(from + order_[static_cast<std::size_t>(next)] * behind_, behind_, to);
        while (++next < last) add_to(to, from + order_[static_cast<std::size_t>(next)] * behind_, behind_);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }
  [[nodiscard]] std::int64_t bytes() const override {
    return static_cast<std::int64_t>((first_.size() + order_.size()) * sizeof(std::int64_t));
  }

 private:
  /// Returns the row that an index refers to; a row outside the table if it is out of range.
  [[nodiscard]] std::int64_t row(std::int64_t i) const {
    const std::int64_t index =
        indices_.dtype == DType::int64 ? indices_.data<std::int64_t>()[i] : indices_.data<std::int32_t>()[i];
    return index < 0 ? index + size_ : index;
  }

  /// Sorts the updates by counting: afterwards first_[row] is the start of the row's updates in order_. Returns false
  /// for an index out of range.
  bool sort() {
    std::ranges::fill(first_, 0);
    for (std::int64_t i = 0; i < indices_.size(); ++i) {
      if (row(i) < 0 || row(i) >= size_) return false;
      ++first_[static_cast<std::size_t>(row(i))];
    }
    std::int64_t sum = 0;
    for (std::int64_t& entry : first_) sum = entry += sum;
    for (std::int64_t i = indices_.size(); i-- > 0;)
      order_[static_cast<std::size_t>(--first_[static_cast<std::size_t>(row(i))])] = i;
    return true;
  }

  /// Throws the reference backend's error for the first invalid index, by running the reference loop.
  void refuse() const {
    const std::array inputs{view_of(updates_), view_of(indices_)};
    const std::array outputs{view_of(table_)};
    evaluate(node_, graph_, inputs, outputs);
  }

  const graph::Node& node_;
  const graph::Graph& graph_;
  Operand updates_, indices_, table_;
  std::int64_t size_, before_ = 1, behind_ = 1;
  std::vector<std::int64_t> first_, order_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const DType indices = step.inputs[1].dtype;
  const bool takes = indices == DType::int32 || indices == DType::int64;
  return takes ? "" : "no kernel here for indices of this dtype";
}

}  // namespace

Kernels kernels_of(const graph::ScatterAdd&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32, why_not, ScatterAddKernel::needs_of, make_as<ScatterAddKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
