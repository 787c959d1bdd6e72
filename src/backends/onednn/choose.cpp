// Which kernel runs a step: nothing to do, float32, half precision through float32, or the reference.
#include <algorithm>
#include <concepts>

#include "attn/backends/reference.h"
#include "convert.h"
#include "kernel.h"

namespace attn::backends::onednn {
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

/// Operations whose kernels move bytes of any dtype.
template <typename Op>
concept Movement =
    std::same_as<Op, graph::Select> || std::same_as<Op, graph::Cast> || std::same_as<Op, graph::Transpose> ||
    std::same_as<Op, graph::Reshape> || std::same_as<Op, graph::Broadcast> || std::same_as<Op, graph::Concat> ||
    std::same_as<Op, graph::Slice> || std::same_as<Op, graph::Pad> || std::same_as<Op, graph::Gather>;

/// A step on float32 copies of its half-precision operands: widened before, rounded once after.
class Widened final : public Kernel {
 public:
  explicit Widened(const Step& step) {
    Step wide{step.node, step.graph, {}, {}, step.fixed, step.engine, std::vector<bool>(step.inputs.size(), false)};
    copies_.reserve(step.inputs.size() + step.outputs.size());  // so that places of copies stay
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Operand& input = step.inputs[i];
      if (!is_half(input.dtype)) {
        wide.inputs.push_back(input);
        continue;
      }
      Copy& copy = add(input);
      wide.inputs.push_back(copy.wide);
      if (step.is_fixed(i)) {
        widen(input.dtype, reinterpret_cast<const std::uint16_t*>(step.fixed[i].data()), copy.wide.data<float>(),
              input.size());
        wide.fixed[i] = copy.numbers;
        fixed_.push_back(i);
      } else {
        widened_.push_back(copies_.size() - 1);
      }
    }
    for (const Operand& output : step.outputs) {
      if (!is_half(output.dtype)) {
        wide.outputs.push_back(output);
        continue;
      }
      wide.outputs.push_back(add(output).wide);
      narrowed_.push_back(copies_.size() - 1);
    }
    Chosen chosen = choose(wide);
    kernel_ = std::move(chosen.kernel);
    why_ = std::move(chosen.why);
    for (const std::size_t i : fixed_) step.packed[i] = true;
    name_ = std::string(kernel_->name()) + ", widened to float32";
  }

  void run() override {
    for (const std::size_t i : widened_) {
      const Copy& copy = copies_[i];
      widen(copy.half.dtype, copy.half.data<std::uint16_t>(), copy.wide.data<float>(), copy.half.size());
    }
    kernel_->run();
    for (const std::size_t i : narrowed_) {
      const Copy& copy = copies_[i];
      narrow(copy.half.dtype, copy.wide.data<float>(), copy.half.data<std::uint16_t>(), copy.half.size());
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::int64_t bytes() const override {
    std::int64_t sum = kernel_->bytes();
    for (const Copy& copy : copies_) sum += copy.numbers.bytes();
    return sum;
  }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  struct Copy {
    Operand half;
    Tensor numbers;
    std::byte* place;
    Operand wide;
  };

  Copy& add(const Operand& half) {
    copies_.push_back({half, Tensor(DType::float32, half.shape), nullptr, {}});
    Copy& copy = copies_.back();
    copy.place = copy.numbers.data();
    copy.wide = {&copy.place, DType::float32, half.shape};
    return copy;
  }

  std::vector<Copy> copies_;
  std::vector<std::size_t> fixed_, widened_, narrowed_;
  std::unique_ptr<Kernel> kernel_;
  std::string why_, name_;
};

bool is_empty(const Operand& operand) { return operand.size() == 0; }

}  // namespace

Tensor view_of(const Operand& operand) {
  return {operand.dtype, operand.shape, std::shared_ptr<std::byte>(std::shared_ptr<void>(), *operand.place)};
}

Chosen choose(const Step& step) {
  if (std::ranges::all_of(step.outputs, is_empty)) return {std::make_unique<Nothing>(), ""};
  const auto reference = [&](std::string why) { return Chosen{std::make_unique<Reference>(step), std::move(why)}; };
  const auto made = [&](Choice choice) {
    if (choice.kernel) return Chosen{std::move(choice.kernel), ""};
    return reference(std::move(choice.why_not));
  };
  return std::visit(
      [&]<typename Op>(const Op& op) -> Chosen {
        if constexpr (Movement<Op>) {
          return made(make(op, step));
        } else if constexpr (Arithmetic<Op>) {
          if (std::ranges::any_of(step.inputs, is_empty)) return reference("an input has no elements");
          const DType dtype = step.inputs[0].dtype;
          if (dtype == DType::float32) return made(make(op, step));
          if constexpr (std::same_as<Op, graph::Linear>) {
            if (dtype == DType::bfloat16) {
              Choice native = make(op, step);
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

}  // namespace attn::backends::onednn
