// A step of a plan: what is known of it before anything is allocated, and what a kernel is made from.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/plan/plan.h"
#include "engine.h"

namespace attn::backends::cpu {

/// The numbers of a value. Type and shape are known from the start; where the bytes are is asked at each run, as inputs
/// move.
struct Operand {
  std::byte* const* place = nullptr;  ///< the executable's, for as long as it lives; null before there is one
  DType dtype = DType::float32;
  Shape shape;

  template <typename T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(*place);
  }
  [[nodiscard]] std::int64_t size() const { return shape.size(); }
};

/// The operand as a tensor, which does not keep the bytes alive.
[[nodiscard]] Tensor view_of(const Operand& operand);

/// What is known of a step before anything is allocated.
struct StepInfo {
  const graph::Node& node;
  const graph::Graph& graph;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<bool> fixed_inputs;  ///< by input: is it a weight, a constant or prepared from them?
  Machine machine;

  [[nodiscard]] bool is_fixed(std::size_t input) const { return fixed_inputs[input]; }
  template <typename Op>
  [[nodiscard]] const Op& op() const {
    return std::get<Op>(node.op);
  }
};

/// The plan must outlive what this gives.
[[nodiscard]] StepInfo describe(const plan::Plan& plan, graph::NodeId id, const Machine& machine);

/// What a step finds or leaves as the next one reads it: a product on tiles packed, in place of x or y; others as
/// bytes (byte_rows.h).
struct Handover {
  const SharedMemory* takes = nullptr;         ///< of the step before; null: x is as it is
  const SharedMemory* leaves = nullptr;        ///< for the next step; null: nothing
  std::optional<graph::IntegerRange> range{};  ///< of the bytes that it leaves
};

/// What a kernel is made from.
struct Step : StepInfo {
  std::vector<Tensor> fixed;  ///< by input: the numbers of those that are fixed, else without bytes
  Engine& engine;
  Handover handover{};

  /// The engine's packed copies of an input that is fixed.
  [[nodiscard]] PackedWeight& packed(std::size_t input, bool is_transposed) const;
};

/// By which an input is found packed.
[[nodiscard]] WeightKey key_of(const StepInfo& step, std::size_t input, bool is_transposed);

}  // namespace attn::backends::cpu
