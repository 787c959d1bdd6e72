#include "memory.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <variant>
#include <vector>

#include "amx_product.h"
#include "attention_heads.h"
#include "attn/base/error.h"
#include "attn/base/size.h"
#include "handover.h"
#include "kernel.h"
#include "making.h"
#include "panels.h"
#include "products.h"

namespace attn::backends::cpu {
namespace {

using graph::at;
using graph::NodeId;
using graph::ValueId;

/// What comes on top: the program's own pages, and where oneDNN makes primitives, its code and theirs.
constexpr std::int64_t kProgram = 3 << 20, kLibrary = 9 << 20;

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

std::int64_t times(std::initializer_list<std::int64_t> factors) {
  const auto product = checked_product(factors);
  if (!product) throw Error(ExitCode::no_memory, "the model's memory does not fit a number of bytes");
  return *product;
}

std::int64_t rounded_up(std::int64_t size, std::int64_t block) { return times({(size + block - 1) / block, block}); }

bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// What making and running the kernel of one step takes.
struct Footprint {
  std::int64_t packed = 0;       ///< stays
  std::int64_t making = 0;       ///< only while the kernel is made
  std::int64_t scratch = 0;      ///< shared by all kernels
  std::vector<bool> lets_go_of;  ///< by input
};

class Pricing {
 public:
  Pricing(const plan::Plan& plan, int threads, const Multiplication& multiplication)
      : plan_(plan), threads_(threads), multiplication_(multiplication), readers_(plan) {}

  std::int64_t run() {
    for (const graph::WeightSpec& spec : plan_.graph.weights) {
      hold(times({spec.shape.size(), bytes_of(spec.dtype)}));
    }
    hold(plan_.input_bytes);
    const auto preparation = preparation_by_step(plan_);
    for (std::size_t i = 0; i < preparation.size(); ++i) {
      for (const NodeId id : preparation[i]) prepare(plan_.graph.nodes[at(id)]);
      if (i < plan_.steps.size()) make(plan_.graph.nodes[at(plan_.steps[i])]);
    }
    hold(plan_.arena_bytes);
    hold(scratch_);
    for (const std::int64_t bytes : handovers(plan_, multiplication_)) handover_ = std::max(handover_, bytes);
    hold(handover_);
    hold(operands_);
    return plan::sum_of_bytes({most_, kProgram, uses_library_ ? kLibrary : 0});
  }

 private:
  void hold(std::int64_t bytes) {
    held_ = plan::sum_of_bytes({held_, bytes});
    most_ = std::max(most_, held_);
  }

  void prepare(const graph::Node& node) {
    for (const ValueId output : node.outputs) {
      const plan::Slot& slot = plan_.slots[at(output)];
      if (slot.alias_of == graph::kNone) hold(slot.bytes);
    }
    const Footprint footprint = footprint_of(node);
    hold(footprint.packed + footprint.making);
    held_ -= footprint.packed + footprint.making;
    for (const ValueId input : node.inputs) leave(input);
  }

  void make(const graph::Node& node) {
    const Footprint footprint = footprint_of(node);
    hold(footprint.packed + footprint.making);
    held_ -= footprint.making;
    scratch_ = std::max(scratch_, footprint.scratch);
    for (std::size_t i = 0; i < footprint.lets_go_of.size(); ++i) {
      if (footprint.lets_go_of[i]) leave(node.inputs[i]);
    }
  }

  void leave(ValueId id) {
    const plan::Slot& slot = plan_.slots[at(readers_.root(id))];
    const bool is_ours = slot.place == plan::Place::weight || slot.place == plan::Place::prepared;
    if (readers_.leaves(id) && is_ours) held_ -= slot.bytes;
  }

  [[nodiscard]] const graph::Value& value(ValueId id) const { return plan_.graph.value(id); }
  [[nodiscard]] bool is_fixed(ValueId id) const {
    const plan::Place place = plan_.slots[at(id)].place;
    return place == plan::Place::weight || place == plan::Place::constant || place == plan::Place::prepared;
  }

  Footprint footprint_of(const graph::Node& node) {
    Footprint footprint;
    footprint.lets_go_of.assign(node.inputs.size(), false);
    widen(node, footprint);
    std::visit([&](const auto& op) { add(op, node, footprint); }, node.op);
    return footprint;
  }

  /// Half precision is widened: weights once, where their kernel does not pack them, and the rest at each run.
  void widen(const graph::Node& node, Footprint& footprint) {
    if (node.inputs.empty() || !is_half(value(node.inputs[0]).dtype) || is_native(node)) return;
    std::int64_t operands = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const graph::Value& input = value(node.inputs[i]);
      if (!is_half(input.dtype)) continue;
      const std::int64_t bytes = rounded_up(times({input.shape.size(), kFloat}), kLine);
      if (!is_fixed(node.inputs[i])) {
        operands = plan::sum_of_bytes({operands, bytes});
      } else if (i == 1 && panels_of(node) != DType::float32) {
        continue;  // the product packs it as it is
      } else if (std::holds_alternative<graph::Linear>(node.op)) {
        footprint.making = plan::sum_of_bytes({footprint.making, bytes});
      } else {
        footprint.packed = plan::sum_of_bytes({footprint.packed, bytes});
        footprint.lets_go_of[i] = true;
      }
    }
    for (const ValueId output : node.outputs)
      operands = plan::sum_of_bytes({operands, rounded_up(times({value(output).shape.size(), kFloat}), kLine)});
    operands_ = std::max(operands_, operands);
  }

  /// bfloat16 that is taken as it is.
  [[nodiscard]] bool is_native(const graph::Node& node) const {
    if (value(node.inputs[0]).dtype != DType::bfloat16) return false;
    if (const auto* const norm = std::get_if<graph::LayerNorm>(&node.op))
      return normalizes_last_axes(*norm, value(node.inputs[0]).shape) &&
             std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) { return is_fixed(id); });
    if (const auto* const attention = std::get_if<graph::Attention>(&node.op))
      return takes_tile_attention(*attention, DType::bfloat16, keys_of(*attention, key_of(*attention, node).shape),
                                  multiplication_);
    return std::holds_alternative<graph::Linear>(node.op) && multiplication_.tiles != Tiles::none &&
           is_fixed(node.inputs[1]);
  }

  /// What the numbers of a map's kernel are in panels.
  [[nodiscard]] DType panels_of(const graph::Node& node) const {
    const auto* const map = std::get_if<graph::Linear>(&node.op);
    if (map == nullptr || !is_fixed(node.inputs[1]) || (map->bias && !is_fixed(node.inputs[2]))) return DType::float32;
    const graph::Value& kernel = value(node.inputs[1]);
    const bool keeps = kernel.dtype == DType::bfloat16 &&
                       keeps_bfloat16(*map, value(node.inputs[0]).shape, kernel.shape, multiplication_);
    return keeps ? DType::bfloat16 : DType::float32;
  }

  [[nodiscard]] const graph::Value& key_of(const graph::Attention& op, const graph::Node& node) const {
    return value(node.inputs[op.packed_heads > 0 ? 0 : 1]);
  }

  /// Adds what packing the weights takes, and counts what the product itself does.
  void add_product(const Product::Size& size, DType dtype, DType weights, Footprint& footprint) {
    const ProductKind kind = product_kind(size, dtype, multiplication_);
    uses_library_ = uses_library_ || kind == ProductKind::onednn;
    const std::int64_t scratch = kind == ProductKind::tiles
                                     ? tile_scratch_bytes(size, dtype, multiplication_, static_cast<int>(threads_))
                                 : kind == ProductKind::panels ? panel_scratch_bytes(size, weights, threads_)
                                                               : 0;
    footprint.scratch = std::max(footprint.scratch, scratch);
    footprint.packed = plan::sum_of_bytes({footprint.packed, packed_bytes(size, dtype, weights, multiplication_)});
  }

  /// The same, where other products may have packed the same weights.
  void add_product(const Product::Size& size, DType dtype, std::pair<ValueId, bool> id, DType weights,
                   Footprint& footprint) {
    Footprint product;
    add_product(size, dtype, weights, product);
    footprint.scratch = std::max(footprint.scratch, product.scratch);
    if (packed_.insert({id, product_kind(size, dtype, multiplication_), weights}).second)
      footprint.packed = plan::sum_of_bytes({footprint.packed, product.packed});
  }

  void add(const graph::Linear& op, const graph::Node& node, Footprint& footprint) {
    if (!is_fixed(node.inputs[1])) return;
    add_product(product_size(op, value(node.inputs[0]).shape, value(node.inputs[1]).shape),
                is_native(node) ? DType::bfloat16 : DType::float32, {node.inputs[1], false}, panels_of(node),
                footprint);
    footprint.lets_go_of[1] = true;
    if (op.bias) footprint.lets_go_of[2] = true;
  }

  void add(const graph::MatMul& op, const graph::Node& node, Footprint& footprint) {
    const Shape& x = value(node.inputs[0]).shape;
    const Shape& y = value(node.inputs[1]).shape;
    const Dim depth = op.transpose_x && x.rank() > 1 ? x[-2] : x.back();
    if (!is_fixed(node.inputs[1]) || y.rank() != 2 || x.rank() < 2 || op.transpose_x) {
      footprint.scratch = times({threads_, depth, kPanel, kFloat});
      return;
    }
    add_product({x.slice(0, x.rank() - 1).size(), depth, y.size() / std::max<Dim>(depth, 1)}, DType::float32,
                {node.inputs[1], op.transpose_y}, DType::float32, footprint);
    if (op.transpose_y) footprint.making = plan::sum_of_bytes({footprint.making, times({y.size(), kFloat})});
    footprint.lets_go_of[1] = true;
  }

  void add(const graph::Attention& op, const graph::Node& node, Footprint& footprint) {
    const graph::Value& query = value(node.inputs[0]);
    const std::int64_t keys = keys_of(op, key_of(op, node).shape), head_size = query.shape[3];
    const std::int64_t value_size = value(node.inputs[op.packed_heads > 0 ? 0 : 2]).shape[3];
    const DType dtype = is_native(node) ? DType::bfloat16 : DType::float32;
    const bool by_rows = op.scores || !(op.scale > 0);
    footprint.scratch = times(
        {threads_,
         takes_tile_attention(op, dtype, keys, multiplication_)
             ? tile_attention_scratch(op, tile_parts(dtype, multiplication_.precision), keys, head_size, value_size)
             : (by_rows ? row_attention_scratch : flash_attention_scratch)(keys, head_size, value_size)});
  }

  void add(const graph::Conv&, const graph::Node& node, Footprint& footprint) {
    if (!is_fixed(node.inputs[1])) return;
    constexpr std::int64_t kBlock = 16;  // channels and filters
    uses_library_ = true;
    const Shape& kernel = value(node.inputs[1]).shape;
    footprint.packed = times({kernel.slice(0, kernel.rank() - 2).size(), rounded_up(kernel[-2], kBlock),
                              rounded_up(kernel.back(), kBlock), kFloat});
    footprint.lets_go_of.assign(node.inputs.size(), false);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) footprint.lets_go_of[i] = true;
  }

  void add(const graph::Rnn& op, const graph::Node& node, Footprint& footprint) {
    if (!is_fixed(node.inputs[1]) || !is_fixed(node.inputs[2])) return;
    const Shape& x = value(node.inputs[0]).shape;
    const Shape& kernel = value(node.inputs[1]).shape;
    const Shape& recurrent = value(node.inputs[2]).shape;
    const std::int64_t rows = times({x[0], x[1]}), width = kernel[1];
    const std::int64_t states = times({x[0], width, 8, kFloat});
    add_product({rows, kernel[0], width}, DType::float32, DType::float32, footprint);
    add_product({x[0], recurrent[0], width}, DType::float32, DType::float32, footprint);
    footprint.packed = plan::sum_of_bytes({footprint.packed, times({rows, width, kFloat}), states});
    footprint.making = plan::sum_of_bytes({footprint.making, times({recurrent.size(), kFloat})});
    for (std::size_t i = 1; i < (op.bias ? 4U : 3U); ++i) footprint.lets_go_of[i] = true;
  }

  template <typename Op>
  void add(const Op&, const graph::Node&, Footprint&) {}

  static constexpr auto kLine = static_cast<std::int64_t>(kAlignment);

  const plan::Plan& plan_;
  std::int64_t threads_;
  Multiplication multiplication_;
  Readers readers_;
  std::int64_t held_ = 0, most_ = 0, scratch_ = 0, operands_ = 0, handover_ = 0;
  bool uses_library_ = false;
  std::set<std::tuple<std::pair<ValueId, bool>, ProductKind, DType>> packed_;  // as Engine::packed
};

}  // namespace

std::int64_t memory_needed(const plan::Plan& plan, int threads, const Multiplication& multiplication) {
  return Pricing(plan, threads, multiplication).run();
}

}  // namespace attn::backends::cpu
