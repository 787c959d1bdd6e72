// A step of a plan: what is known before allocation, and what is needed to make its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/plan/plan.h"
#include "engine.h"

namespace attn::backends::cpu {

/// The elements of a value. Type and shape are fixed. The address is looked up at each run, because inputs move.
struct Operand {
  std::byte* const* place = nullptr;  ///< address variable, owned by the executable; null before it exists
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
  std::vector<bool> fixed_inputs;  ///< for each input, whether it is a weight, a constant or prepared from these
  Machine machine;

  [[nodiscard]] bool is_fixed(std::size_t input) const { return fixed_inputs[input]; }
  template <typename Op>
  [[nodiscard]] const Op& op() const {
    return std::get<Op>(node.op);
  }
};

/// Describes a step. The plan must outlive the result.
[[nodiscard]] StepInfo describe(const plan::Plan& plan, graph::NodeId id, const Machine& machine);

/// The exchange of an operand with the previous or the next step. The operand is packed for a product on tiles, in
/// place of x or y, or exchanged as quantized rows (byte_rows.h).
struct Handover {
  const SharedMemory* takes = nullptr;         ///< memory of the previous step's data; null: the step reads x itself
  const SharedMemory* leaves = nullptr;        ///< memory for the next step's data; null: the step leaves nothing
  std::optional<graph::IntegerRange> range{};  ///< the range, if the step leaves quantized rows
};

/// The inputs for making a kernel.
struct Step : StepInfo {
  std::vector<Tensor> fixed;  ///< the tensor of each fixed input; empty tensors for the others
  Engine& engine;
  Handover handover{};

  /// Returns the engine's packed copies of a fixed input.
  [[nodiscard]] PackedWeight& packed(std::size_t input, bool is_transposed) const;
};

/// Returns the key of an input's packed copies.
[[nodiscard]] WeightKey key_of(const StepInfo& step, std::size_t input, bool is_transposed);

}  // namespace attn::backends::cpu
