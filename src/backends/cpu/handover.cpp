#include "handover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "attn/base/size.h"
#include "gemm/amx_pack.h"
#include "gemm/amx_product.h"
#include "gemm/products.h"
#include "quantized/byte_rows.h"

namespace attn::backends::cpu {
namespace {

using graph::at;
using graph::ValueId;

/// Limit of the memory for handovers. It is additional memory, because an output keeps its place in the arena.
constexpr std::int64_t kMost = 64 << 20;

class Handovers {
 public:
  Handovers(const plan::Plan& plan, const Machine& machine)
      : plan_(plan), machine_(machine), readers_(plan.graph.values.size(), 0) {
    for (const graph::NodeId id : plan.steps)
      for (const ValueId input : plan.graph.nodes[at(id)].inputs) ++readers_[at(input)];
    for (const graph::Output& output : plan.graph.outputs) ++readers_[at(output.value)];
    for (const graph::Scores& scores : plan.graph.scores) ++readers_[at(scores.value)];
    for (const plan::Slot& slot : plan.slots)
      if (slot.alias_of != graph::kNone) ++readers_[at(slot.alias_of)];
  }

  /// Returns the handover of quantized rows from a step to an int8 product; empty if there is none.
  [[nodiscard]] HandoverSpec rows(std::size_t step) const {
    const StepInfo from = describe(plan_, plan_.steps[step], machine_);
    const StepInfo to = describe(plan_, plan_.steps[step + 1], machine_);
    if (from.node.outputs[0] != to.node.inputs[0] || !std::holds_alternative<graph::QuantizedLinear>(to.node.op))
      return {};
    std::optional<ProducedRows> left;
    if (std::holds_alternative<graph::LayerNorm>(from.node.op)) left = rows_of_normalization(from);
    if (std::holds_alternative<graph::QuantizedLinear>(from.node.op)) left = rows_of_quantized(from);
    const std::optional<ConsumedRows> taken = left ? rows_for_quantized(to) : std::nullopt;
    if (!taken || left->rows != taken->rows || left->length != taken->length) return {};
    if (left->in_place_of_output && !has_one_reader(from.node.outputs[0])) return {};
    const std::int64_t bytes = ByteRows::bytes(taken->rows, taken->length);
    return bytes <= kMost ? HandoverSpec{bytes, taken->range} : HandoverSpec{};
  }

  /// Returns the bytes of the tiles that a step's product packs for the product on tiles in the next step; 0 if it does
  /// not.
  [[nodiscard]] std::int64_t tiles(std::size_t step) const {
    const graph::Node& node = plan_.graph.nodes[at(plan_.steps[step])];
    const graph::Node& next = plan_.graph.nodes[at(plan_.steps[step + 1])];
    const auto from = size_of(plan_.steps[step]), to = size_of(plan_.steps[step + 1]);
    const ValueId value = node.outputs[0];
    if (!from || !to || next.inputs[0] != value || !has_one_reader(value)) return 0;
    if (std::get<graph::Linear>(node.op).residual) return 0;
    if (from->rows != to->rows || from->width != to->depth || to->depth % kTileBlock != 0) return 0;
    const int parts = tile_parts(plan_.graph.value(value).dtype, machine_.multiplication.precision);
    const auto bytes = checked_product(
        std::array<std::int64_t, 4>{(to->rows + kTileBlock - 1) / kTileBlock * kTileBlock, to->depth, parts, 2});
    return bytes && *bytes <= kMost ? *bytes : 0;
  }

 private:
  /// Returns whether only one step reads the value.
  [[nodiscard]] bool has_one_reader(ValueId value) const {
    return readers_[at(value)] == 1 && plan_.slots[at(value)].alias_of == graph::kNone;
  }

  /// Returns the size of a node that is a product with a weight and supports handovers; empty for others.
  [[nodiscard]] std::optional<Product::Size> size_of(graph::NodeId id) const {
    const StepInfo step = describe(plan_, id, machine_);
    const auto* const op = std::get_if<graph::Linear>(&step.node.op);
    if (op == nullptr || !step.is_fixed(1) || (op->bias && !step.is_fixed(2))) return std::nullopt;
    const Operand &x = step.inputs[0], &w = step.inputs[1];
    const Product::Size size = product_size(*op, x.shape, w.shape);
    const ProductInfo* const product = find_product({size, x.dtype, w.dtype, machine_.multiplication});
    if (std::min({size.rows, size.depth, size.width}) < 1 || product == nullptr || !product->hands_over)
      return std::nullopt;
    return size;
  }

  const plan::Plan& plan_;
  Machine machine_;
  std::vector<int> readers_;  // indexed by ValueId
};

}  // namespace

std::vector<HandoverSpec> handovers(const plan::Plan& plan, const Machine& machine) {
  const Handovers all(plan, machine);
  std::vector<HandoverSpec> result(plan.steps.size());
  for (std::size_t step = 0; step + 1 < plan.steps.size(); ++step) {
    result[step] = all.rows(step);
    // A product on tiles that takes a handover cannot leave one.
    if (result[step].bytes == 0 && (step == 0 || result[step - 1].bytes == 0)) result[step].bytes = all.tiles(step);
  }
  return result;
}

}  // namespace attn::backends::cpu
