// A step of a plan: what is known before allocation, and the inputs for making its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/plan/plan.h"
#include "engine.h"

namespace attn::backends::cpu {

/// The elements of a value. Type and shape are fixed; the address is looked up at each run, because inputs
/// move.
struct Operand {
  std::byte* const* place = nullptr;  ///< owned by the executable, for its lifetime; null before there is one
  DType dtype = DType::float32;
  Shape shape;

  template <typename T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(*place);
  }
  [[nodiscard]] std::int64_t size() const { return shape.size(); }
};

/// Returns the operand as a tensor that does not keep the bytes alive.
[[nodiscard]] Tensor view_of(const Operand& operand);

/// Properties of a step that are known before allocation.
struct StepInfo {
  const graph::Node& node;
  const graph::Graph& graph;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<bool> fixed_inputs;  ///< for each input: is it a weight, a constant or prepared from them?
  Machine machine;

  [[nodiscard]] bool is_fixed(std::size_t input) const { return fixed_inputs[input]; }
  template <typename Op>
  [[nodiscard]] const Op& op() const {
    return std::get<Op>(node.op);
  }
};

/// The plan must outlive the result.
[[nodiscard]] StepInfo describe(const plan::Plan& plan, graph::NodeId id, const Machine& machine);

/// An operand that a step takes from the previous step or leaves for the next one: packed for a product on tiles, in
/// place of x or y, or as quantized rows (byte_rows.h).
struct Handover {
  const SharedMemory* takes = nullptr;         ///< from the previous step; null: x itself
  const SharedMemory* leaves = nullptr;        ///< for the next step; null: nothing
  std::optional<graph::IntegerRange> range{};  ///< range of the quantized rows that it leaves
};

/// The inputs for making a kernel.
struct Step : StepInfo {
  std::vector<Tensor> fixed;  ///< for each fixed input its tensor, otherwise without bytes
  Engine& engine;
  Handover handover{};

  /// Returns the engine's packed copies of a fixed input.
  [[nodiscard]] PackedWeight& packed(std::size_t input, bool is_transposed) const;
};

/// Returns the key of an input's packed copies.
[[nodiscard]] WeightKey key_of(const StepInfo& step, std::size_t input, bool is_transposed);

}  // namespace attn::backends::cpu
