#include "choose.h"

#include <algorithm>
#include <new>

#include "attn/backends/reference.h"
#include "attn/plan/bytes.h"
#include "operations/convert.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

constexpr auto kLine = static_cast<std::int64_t>(kAlignment);

/// A step whose outputs have no elements.
class EmptyKernel final : public Kernel {
 public:
  void run() override {}
  [[nodiscard]] std::string_view name() const override { return "nothing to do"; }
};

class Reference final : public Kernel {
 public:
  explicit Reference(const Step& step)
      : node_(step.node), graph_(step.graph), inputs_(step.inputs), outputs_(step.outputs), ranks_(step.engine.ranks) {}

  void run() override {
    std::vector<Tensor> inputs, outputs;
    for (const Operand& input : inputs_) inputs.push_back(view_of(input));
    for (const Operand& output : outputs_) outputs.push_back(view_of(output));
    evaluate(node_, graph_, inputs, outputs, ranks_);
  }
  [[nodiscard]] std::string_view name() const override { return "reference"; }

 private:
  const graph::Node& node_;
  const graph::Graph& graph_;
  std::vector<Operand> inputs_, outputs_;
  communicators::Communicator* ranks_;
};

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
bool is_empty(const Operand& operand) { return operand.size() == 0; }

Kernels kernels_of(const StepInfo& step) {
  return std::visit([](const auto& op) { return cpu::kernels_of(op); }, step.node.op);
}

/// Returns the step with float32 in place of half precision, except for inputs that a kernel supports in half
/// precision.
StepInfo widened(const StepInfo& step) {
  StepInfo wide = step;
  const auto stays = [&](std::size_t input) {
    if (!step.is_fixed(input) || !is_half(step.inputs[input].dtype)) return false;
    return std::ranges::any_of(kernels_of(step), [&](const KernelInfo& kernel) {
      return kernel.keeps_half != nullptr && kernel.keeps_half(step, input);
    });
  };
  for (std::size_t i = 0; i < wide.inputs.size(); ++i) {
    if (is_half(wide.inputs[i].dtype) && !stays(i)) wide.inputs[i].dtype = DType::float32;
  }
  for (Operand& output : wide.outputs) {
    if (is_half(output.dtype)) output.dtype = DType::float32;
  }
  return wide;
}

/// Adds the memory of the copies to `needs`, the needs of the step's float32 kernel.
MemoryNeeds needs_of_widened(const StepInfo& step, const StepInfo& wide, MemoryNeeds needs) {
  const auto bytes_of_copy = [](const Operand& operand) {
    const std::int64_t size = bytes_times({operand.size(), bytes_of(DType::float32)});
    return bytes_times({(size + kLine - 1) / kLine, kLine});
  };
  std::vector<bool> copied(step.inputs.size(), false);
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const bool kernel_copies = i < needs.copied.size() && needs.copied[i];
    if (step.inputs[i].dtype == wide.inputs[i].dtype) {
      copied[i] = kernel_copies;
    } else if (!step.is_fixed(i)) {
      needs.operands = plan::sum_of_bytes({needs.operands, bytes_of_copy(step.inputs[i])});
    } else {
      std::int64_t& place = kernel_copies ? needs.making : needs.held;
      place = plan::sum_of_bytes({place, bytes_of_copy(step.inputs[i])});
      copied[i] = true;
    }
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i].dtype != wide.outputs[i].dtype)
      needs.operands = plan::sum_of_bytes({needs.operands, bytes_of_copy(step.outputs[i])});
  }
  needs.copied = std::move(copied);
  return needs;
}

/// Runs a float32 kernel on copies of half-precision operands. Inputs are widened before; outputs are rounded once
/// afterwards. The copies are in the memory that kernels share, except for those of weights.
class WidenedKernel final : public Kernel {
 public:
  explicit WidenedKernel(const Step& step) : engine_(step.engine) {
    Step wide{widened(step), step.fixed, step.engine, {}};
    // The kernel has pointers to the elements, so the vector must not grow.
    copies_.reserve(step.inputs.size() + step.outputs.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      Operand& input = wide.inputs[i];
      if (input.dtype == step.inputs[i].dtype) continue;
      if (step.is_fixed(i)) {
        wide.fixed[i] = step.fixed[i].cast(DType::float32);
        input = add_weight(step.inputs[i], wide.fixed[i]);
      } else {
        input = add(step.inputs[i], Role::input);
      }
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (is_half(step.outputs[i].dtype)) wide.outputs[i] = add(step.outputs[i], Role::output);
    }
    engine_.operands.reserve(shared_bytes_);

    MadeKernel made = make_kernel(choose(wide), wide);
    kernel_ = std::move(made.kernel);
    why_ = std::move(made.why);
    name_ = std::string(kernel_->name()) + ", widened to float32";
    for (std::size_t i = 0; i < made.copied.size(); ++i) {
      if (made.copied[i]) release(wide.inputs[i]);
    }
  }

  void run() override {
    for (Copy& copy : copies_) {
      if (copy.role != Role::weight) copy.place = engine_.operands.get() + copy.offset;
      if (copy.role != Role::input) continue;
      parallel_ranges(copy.half.size(), copy.team, [&](std::int64_t begin, std::int64_t end) {
        widen(copy.half.dtype, copy.half.data<std::uint16_t>() + begin, copy.wide().data<float>() + begin, end - begin);
      });
    }
    kernel_->run();
    for (const Copy& copy : copies_) {
      if (copy.role != Role::output) continue;
      parallel_ranges(copy.half.size(), copy.team, [&](std::int64_t begin, std::int64_t end) {
        narrow(copy.half.dtype, copy.wide().data<float>() + begin, copy.half.data<std::uint16_t>() + begin,
               end - begin);
      });
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::int64_t bytes() const override {
    std::int64_t sum = kernel_->bytes();
    for (const Copy& copy : copies_) sum += copy.weight.bytes();
    return sum;
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  enum class Role : std::uint8_t { input, output, weight };

  struct Copy {
    Operand half;
    Role role;
    std::int64_t offset;  // offset in the shared memory
    Tensor weight;
    std::byte* place;
    Team team;

    [[nodiscard]] Operand wide() const { return {&place, DType::float32, half.shape}; }
  };

  Operand add(const Operand& half, Role role) {
    const Team team = engine_.team_for(6.0 * static_cast<double>(half.size()));
    copies_.push_back({half, role, shared_bytes_, {}, nullptr, team});
    shared_bytes_ += (half.size() * bytes_of(DType::float32) + kLine - 1) / kLine * kLine;
    return copies_.back().wide();
  }

  Operand add_weight(const Operand& half, const Tensor& numbers) {
    copies_.push_back({half, Role::weight, 0, numbers, numbers.data(), {}});
    return copies_.back().wide();
  }

  /// Frees a weight that the kernel has packed.
  void release(const Operand& wide) {
    for (Copy& copy : copies_) {
      if (&copy.place == wide.place) copy.weight = Tensor();
    }
  }

  Engine& engine_;
  std::vector<Copy> copies_;
  std::int64_t shared_bytes_ = 0;
  std::unique_ptr<Kernel> kernel_;
  std::string why_, name_;
};

MadeKernel by_reference(const Step& step, std::string why) {
  return {std::make_unique<Reference>(step), std::move(why), {}};
}

}  // namespace

Choice choose(const StepInfo& step) {
  // A rank with an empty shard still takes part in the collective, by the reference loop.
  if (graph::is_collective(step.node.op)) return {Choice::Method::reference, nullptr, ""};
  if (std::ranges::all_of(step.outputs, is_empty)) return {Choice::Method::nothing};
  const Kernels kernels = kernels_of(step);
  if (kernels.empty()) return {Choice::Method::reference, nullptr, "no kernel here for this operation"};
  const DType dtype = step.inputs[0].dtype;
  const bool has_empty = std::ranges::any_of(step.inputs, is_empty);
  bool may_widen = is_half(dtype);
  std::string why = fmt::format("no kernel here for {}", name_of(dtype));
  for (const KernelInfo& kernel : kernels) {
    if (kernel.takes == KernelDType::any) {
      may_widen = false;
    } else {
      if (has_empty) return {Choice::Method::reference, nullptr, "an input has no elements"};
      const bool takes =
          dtype == DType::float32 || (dtype == DType::bfloat16 && kernel.takes == KernelDType::float32_or_bfloat16);
      if (!takes) continue;
    }
    why = kernel.why_not(step);
    if (why.empty()) return {Choice::Method::kernel, &kernel, "", kernel.needs(step)};
  }
  if (!may_widen) return {Choice::Method::reference, nullptr, std::move(why)};
  const StepInfo wide = widened(step);
  Choice inner = choose(wide);
  return {Choice::Method::widened, nullptr, std::move(inner.why), needs_of_widened(step, wide, std::move(inner.needs))};
}

MadeKernel make_kernel(const Choice& choice, const Step& step) {
  switch (choice.method) {
    case Choice::Method::nothing:
      return {std::make_unique<EmptyKernel>(), "", {}};
    case Choice::Method::kernel:
      try {
        return {choice.kernel->make(step), "", choice.needs.copied};
      } catch (const dnnl::error& error) {
        if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
        return by_reference(step, fmt::format("oneDNN: {}", error.what()));
      }
    case Choice::Method::widened: {
      auto kernel = std::make_unique<WidenedKernel>(step);
      std::string why = kernel->why();
      return {std::move(kernel), std::move(why), choice.needs.copied};
    }
    case Choice::Method::reference:
      break;
  }
  return by_reference(step, choice.why);
}

}  // namespace attn::backends::cpu
