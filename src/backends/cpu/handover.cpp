#include "handover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "amx_pack.h"
#include "amx_product.h"
#include "attn/base/size.h"
#include "products.h"

namespace attn::backends::cpu {
namespace {

using graph::at;
using graph::ValueId;

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

  [[nodiscard]] std::int64_t bytes(std::size_t step) const {
    const graph::Node& node = plan_.graph.nodes[at(plan_.steps[step])];
    const graph::Node& next = plan_.graph.nodes[at(plan_.steps[step + 1])];
    const auto from = size_of(plan_.steps[step]), to = size_of(plan_.steps[step + 1]);
    const ValueId value = node.outputs[0];
    if (!from || !to || next.inputs[0] != value || readers_[at(value)] != 1) return 0;
    if (plan_.slots[at(value)].alias_of != graph::kNone || std::get<graph::Linear>(node.op).residual) return 0;
    if (from->rows != to->rows || from->width != to->depth || to->depth % kTileBlock != 0) return 0;
    const int parts = tile_parts(plan_.graph.value(value).dtype, machine_.multiplication.precision);
    const auto bytes = checked_product(
        std::array<std::int64_t, 4>{(to->rows + kTileBlock - 1) / kTileBlock * kTileBlock, to->depth, parts, 2});
    // The output keeps its place in the arena, so this comes on top.
    constexpr std::int64_t kMost = 64 << 20;
    return bytes && *bytes <= kMost ? *bytes : 0;
  }

 private:
  /// The size of a product by a weight that knows how to hand over.
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
  std::vector<int> readers_;  // by ValueId
};

}  // namespace

std::vector<std::int64_t> handovers(const plan::Plan& plan, const Machine& machine) {
  const Handovers all(plan, machine);
  std::vector<std::int64_t> result(plan.steps.size(), 0);
  for (std::size_t step = 0; step + 1 < plan.steps.size(); ++step)
    if (step == 0 || result[step - 1] == 0) result[step] = all.bytes(step);
  return result;
}

}  // namespace attn::backends::cpu
