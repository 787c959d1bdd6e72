// Which kernel runs a step: nothing to do, float32, half precision through float32, or the reference.
#include <algorithm>
#include <concepts>
#include <new>

#include "attn/backends/reference.h"
#include "convert.h"
#include "kernel.h"
#include "parallel.h"
#include "products.h"

namespace attn::backends::cpu {
namespace {

/// A step whose outputs have no elements.
class Nothing final : public Kernel {
 public:
  void run() override {}
  [[nodiscard]] std::string_view name() const override { return "nothing to do"; }
};

class Reference final : public Kernel {
 public:
  explicit Reference(const Step& step)
      : node_(step.node), graph_(step.graph), inputs_(step.inputs), outputs_(step.outputs) {}

  void run() override {
    std::vector<Tensor> inputs, outputs;
    for (const Operand& input : inputs_) inputs.push_back(view_of(input));
    for (const Operand& output : outputs_) outputs.push_back(view_of(output));
    evaluate(node_, graph_, inputs, outputs);
  }
  [[nodiscard]] std::string_view name() const override { return "reference"; }

 private:
  const graph::Node& node_;
  const graph::Graph& graph_;
  std::vector<Operand> inputs_, outputs_;
};

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// Operations that have a kernel here that works in float32, for which half precision is widened.
template <typename Op>
concept Arithmetic = std::same_as<Op, graph::Unary> || std::same_as<Op, graph::Binary> ||
    std::same_as<Op, graph::Linear> || std::same_as<Op, graph::MatMul> || std::same_as<Op, graph::Softmax> ||
    std::same_as<Op, graph::Attention> || std::same_as<Op, graph::LayerNorm> || std::same_as<Op, graph::BatchNorm> ||
    std::same_as<Op, graph::Reduce> || std::same_as<Op, graph::Conv> || std::same_as<Op, graph::Rnn>;

/// Those that may have one for bfloat16.
template <typename Op>
concept Native =
    std::same_as<Op, graph::Linear> || std::same_as<Op, graph::Attention> || std::same_as<Op, graph::LayerNorm>;

/// Operations whose kernels move bytes of any dtype.
template <typename Op>
concept Movement =
    std::same_as<Op, graph::Select> || std::same_as<Op, graph::Cast> || std::same_as<Op, graph::Transpose> ||
    std::same_as<Op, graph::Reshape> || std::same_as<Op, graph::Broadcast> || std::same_as<Op, graph::Concat> ||
    std::same_as<Op, graph::Slice> || std::same_as<Op, graph::Pad> || std::same_as<Op, graph::Gather>;

/// A weight that its kernel takes as it is beside an x in float32.
bool stays_bfloat16(const Step& step, std::size_t input) {
  const auto* const map = std::get_if<graph::Linear>(&step.node.op);
  return map != nullptr && input == 1 && step.inputs[1].dtype == DType::bfloat16 && (!map->bias || step.is_fixed(2)) &&
         keeps_bfloat16(*map, step.inputs[0].shape, step.inputs[1].shape, step.engine.multiplication);
}

/// A step on float32 copies of its half-precision operands: widened before, rounded once after. The copies are in the
/// memory that kernels share, but for those of weights.
class Widened final : public Kernel {
 public:
  explicit Widened(const Step& step) : engine_(step.engine) {
    Step wide{step.node,
              step.graph,
              {},
              {},
              step.fixed,
              step.engine,
              Handover::none,
              std::vector<bool>(step.inputs.size(), false)};
    copies_.reserve(step.inputs.size() + step.outputs.size());  // their places must stay
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Operand& input = step.inputs[i];
      if (!is_half(input.dtype)) {
        wide.inputs.push_back(input);
      } else if (step.is_fixed(i) && stays_bfloat16(step, i)) {
        wide.inputs.push_back(input);
        step.packed[i] = true;
      } else if (step.is_fixed(i)) {
        wide.fixed[i] = step.fixed[i].cast(DType::float32);
        wide.inputs.push_back(add_weight(input, wide.fixed[i]));
        step.packed[i] = true;
      } else {
        wide.inputs.push_back(add(input, Role::input));
      }
    }
    for (const Operand& output : step.outputs) {
      wide.outputs.push_back(is_half(output.dtype) ? add(output, Role::output) : output);
    }
    engine_.operands.reserve(shared_bytes_);

    Chosen chosen = choose(wide);
    kernel_ = std::move(chosen.kernel);
    why_ = std::move(chosen.why);
    name_ = std::string(kernel_->name()) + ", widened to float32";
    for (std::size_t i = 0; i < wide.inputs.size(); ++i) {
      if (wide.packed[i]) release(wide.inputs[i]);
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
    std::int64_t offset;  // into the shared memory
    Tensor weight;
    std::byte* place;
    Team team;

    [[nodiscard]] Operand wide() const { return {&place, DType::float32, half.shape}; }
  };

  Operand add(const Operand& half, Role role) {
    const Team team = engine_.team_for(6.0 * static_cast<double>(half.size()));
    copies_.push_back({half, role, shared_bytes_, {}, nullptr, team});
    constexpr auto kLine = static_cast<std::int64_t>(kAlignment);
    shared_bytes_ += (half.size() * bytes_of(DType::float32) + kLine - 1) / kLine * kLine;
    return copies_.back().wide();
  }

  Operand add_weight(const Operand& half, const Tensor& numbers) {
    copies_.push_back({half, Role::weight, 0, numbers, numbers.data(), {}});
    return copies_.back().wide();
  }

  /// Lets go of a weight that the kernel has packed.
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

template <typename Op>
Choice try_make(const Op& op, const Step& step) {
  try {
    return make(op, step);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    step.packed.assign(step.packed.size(), false);
    return fmt::format("oneDNN: {}", error.what());
  }
}

bool is_empty(const Operand& operand) { return operand.size() == 0; }

}  // namespace

Tensor view_of(const Operand& operand) {
  return {operand.dtype, operand.shape, std::shared_ptr<std::byte>(std::shared_ptr<void>(), *operand.place)};
}

Chosen choose(const Step& step) {
  if (std::ranges::all_of(step.outputs, is_empty)) return {std::make_unique<Nothing>(), ""};
  const auto reference = [&](std::string why) { return Chosen{std::make_unique<Reference>(step), std::move(why)}; };
  const auto made = [&](const auto& op) {
    Choice choice = try_make(op, step);
    if (choice.kernel) return Chosen{std::move(choice.kernel), ""};
    return reference(std::move(choice.why_not));
  };
  return std::visit(
      [&]<typename Op>(const Op& op) -> Chosen {
        if constexpr (Movement<Op>) {
          return made(op);
        } else if constexpr (Arithmetic<Op>) {
          if (std::ranges::any_of(step.inputs, is_empty)) return reference("an input has no elements");
          const DType dtype = step.inputs[0].dtype;
          if (dtype == DType::float32) return made(op);
          if constexpr (Native<Op>) {
            if (dtype == DType::bfloat16) {
              Choice native = try_make(op, step);
              if (native.kernel) return {std::move(native.kernel), ""};
            }
          }
          if (is_half(dtype)) {
            auto widened = std::make_unique<Widened>(step);
            std::string why = widened->why();
            return {std::move(widened), std::move(why)};
          }
          return reference(fmt::format("no kernel here for {}", name_of(dtype)));
        } else {
          return reference("no kernel here for this operation");
        }
      },
      step.node.op);
}

}  // namespace attn::backends::cpu
