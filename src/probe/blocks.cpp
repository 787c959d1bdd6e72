#include "attn/probe/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "data_flow.h"

namespace attn::probe {
namespace {

using graph::at;
using graph::kNone;
using graph::Node;
using graph::ValueId;

/// An addition to a stream, and its other operand.
struct Addition {
  ValueId sum = kNone, stream = kNone, part = kNone;
};

/// Finds the blocks of a graph.
class BlockFinder {
 public:
  explicit BlockFinder(const graph::Graph& graph) : graph_(graph), flow_(graph) {}

  std::vector<Block> find() {
    for (const Node& node : graph_.nodes)
      if (is_attention(node)) add_attention(node);
    name_stacks();
    return std::move(blocks_);
  }

 private:
  [[nodiscard]] const Shape& shape(ValueId value) const { return graph_.value(value).shape; }
  /// Returns whether the node is attention; in a decode step it reads a KV cache.
  static bool is_attention(const Node& node) { return is_any_of<graph::Attention, graph::CachedAttention>(node); }
  [[nodiscard]] bool is_computed(ValueId value) const {
    return graph_.value(value).kind == graph::ValueKind::computed && !flow_.is_fixed(value);
  }

  /// Returns whether the node is an addition of two computed values of its result's shape.
  [[nodiscard]] bool is_sum(const Node& node) const {
    return is_addition(node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
             return is_computed(id) && shape(id) == shape(node.outputs[0]);
           });
  }

  /// Returns the nodes that read a value, directly or through casts.
  [[nodiscard]] std::vector<const Node*> readers(ValueId value) const {
    std::vector<const Node*> out;
    for (const graph::NodeId id : flow_.readers(value)) {
      const Node& node = graph_.nodes[at(id)];
      if (is_any_of<graph::Cast>(node)) {
        const std::vector<const Node*> behind = readers(node.outputs[0]);
        out.insert(out.end(), behind.begin(), behind.end());
      } else {
        out.push_back(&node);
      }
    }
    return out;
  }

  /// Follows a part through the first reader of each value until it is added to something; nothing if it is not.
  [[nodiscard]] std::optional<Addition> addition_of(ValueId part) const {
    while (const Node* node = flow_.first_reader(part)) {
      if (is_attention(*node)) return std::nullopt;
      if (is_sum(*node)) return Addition{node->outputs[0], node->inputs[node->inputs[0] == part ? 1 : 0], part};
      part = node->outputs[0];
    }
    return std::nullopt;
  }

  /// Returns the addition of something to the stream.
  [[nodiscard]] std::optional<Addition> addition_to(ValueId stream) const {
    for (const Node* node : readers(stream))
      if (is_sum(*node)) {
        const bool first = flow_.without_casts(node->inputs[0]) == flow_.without_casts(stream);
        return Addition{node->outputs[0], stream, node->inputs[first ? 1 : 0]};
      }
    return std::nullopt;
  }

  /// Returns the norm that is the only reader of a sum, as in post-norm blocks; kNone otherwise.
  [[nodiscard]] ValueId only_norm(ValueId sum) const {
    const std::vector<const Node*> all = readers(sum);
    if (all.size() != 1 || !is_any_of<graph::LayerNorm>(*all[0])) return kNone;
    const ValueId norm = all[0]->outputs[0];
    const bool is_cast = flow_.readers(norm).size() == 1 && is_any_of<graph::Cast>(*flow_.first_reader(norm));
    return is_cast ? flow_.first_reader(norm)->outputs[0] : norm;
  }

  [[nodiscard]] std::vector<ValueId> computed_inputs(const Node& node) const {
    std::vector<ValueId> out;
    std::ranges::copy_if(node.inputs, std::back_inserter(out), [&](ValueId id) { return is_computed(id); });
    return out;
  }

  /// Returns the projection that an operand of attention is made from. It has the operand's shape, and only slices and
  /// reshapes lie between it and the product.
  [[nodiscard]] ValueId projection(ValueId operand) const {
    std::vector<ValueId> path = {operand};  // from the operand back to the product
    while (true) {
      const Node* node = flow_.producer(path.back());
      if (node == nullptr) return kNone;
      if (is_product(*node)) break;
      const std::vector<ValueId> computed = computed_inputs(*node);
      if (computed.empty() || is_attention(*node)) return kNone;
      path.push_back(computed.front());
    }
    ValueId out = kNone;
    for (auto value = path.rbegin(); value != path.rend(); ++value) {
      const Node* node = flow_.producer(*value);
      const bool layout = is_any_of<graph::Slice, graph::Reshape, graph::Transpose, graph::Cast>(*node);
      if (!layout && !is_product(*node) && !is_bias(*node)) break;
      if (shape(*value) == shape(operand)) out = *value;
      if (out != kNone && !leads_to_bias(*value)) break;
    }
    return out;
  }

  [[nodiscard]] bool is_bias(const Node& node) const {
    return is_addition(node) && (flow_.is_fixed(node.inputs[0]) || flow_.is_fixed(node.inputs[1]));
  }
  [[nodiscard]] bool leads_to_bias(ValueId value) const {
    return flow_.readers(value).size() == 1 && is_bias(*flow_.first_reader(value));
  }

  /// Returns whether the node multiplies a computed value by weights.
  [[nodiscard]] bool is_product(const Node& node) const {
    return is_contraction(node) && computed_inputs(node).size() == 1;
  }

  [[nodiscard]] AttentionPart part_of(const Node& node) const {
    AttentionPart out;
    out.q = projection(node.inputs[0]);
    out.k = projection(node.inputs[1]);
    out.v = projection(node.inputs[2]);
    out.values = node.inputs[2];
    out.z = node.outputs[0];
    if (const auto* attention = std::get_if<graph::Attention>(&node.op); attention != nullptr && attention->scores)
      out.pattern = node.outputs[1];
    return out;
  }

  /// Returns the input of the last product before a value, which only norms, casts, reshapes and scales follow.
  [[nodiscard]] ValueId last_product_input(ValueId value) const {
    while (const Node* node = flow_.producer(value)) {
      const std::vector<ValueId> computed = computed_inputs(*node);
      if (computed.size() != 1) return kNone;
      if (is_contraction(*node)) return computed.front();
      value = computed.front();
    }
    return kNone;
  }

  void add_attention(const Node& node) {
    std::optional<Addition> sum = addition_of(node.outputs[0]);
    if (!sum) return;
    const std::vector<bool> before = flow_.ancestors(node.inputs[0]);
    AttentionPart part = part_of(node);
    part.out = sum->part;
    if (!before[at(sum->stream)]) return add_parallel(part, *sum, before);
    // The stream either continues the block before, whose next part is this attention, or begins a block.
    const bool continues = !blocks_.empty() && expects_cross_ == sum->sum;
    expects_cross_ = kNone;
    if (!continues) {
      Block block;
      block.resid_pre = sum->stream;
      block.self = part;
      blocks_.push_back(std::move(block));
    } else {
      blocks_.back().cross = part;
    }
    Block& block = blocks_.back();
    ValueId stream = sum->sum;
    if (const ValueId norm = only_norm(stream); norm != kNone) {
      block.post_norm = true;
      stream = norm;
    }
    (continues ? block.resid_cross : block.resid_mid) = stream;
    add_mlp(block, stream);
  }

  void add_mlp(Block& block, ValueId stream) {
    const std::optional<Addition> sum = addition_to(stream);
    if (!sum) {  // a block without an MLP at the end of a stack
      block.resid_post = stream;
      return;
    }
    const std::vector<bool> behind = flow_.descendants(stream), needed = flow_.ancestors(sum->part);
    bool attends = false, crosses = false;
    for (const Node& node : graph_.nodes) {
      if (!is_attention(node) || !needed[at(node.outputs[0])] || !behind[at(node.inputs[0])]) continue;
      attends = true;
      crosses |= !behind[at(node.inputs[1])];
    }
    if (attends) {  // the next part is another attention, of this block if it reads another stack
      (crosses ? expects_cross_ : block.resid_post) = crosses ? sum->sum : stream;
      return;
    }
    if (!behind[at(sum->part)]) block.resid_mid = kNone;  // attention and MLP read the same stream
    finish(block, *sum);
  }

  void add_parallel(const AttentionPart& part, const Addition& joined, const std::vector<bool>& before) {
    const std::optional<Addition> sum = addition_of(joined.sum);
    if (!sum || !before[at(sum->stream)]) return;
    Block block;
    block.self = part;
    block.resid_pre = sum->stream;
    blocks_.push_back(block);
    finish(blocks_.back(), {sum->sum, sum->stream, joined.stream});
  }

  void finish(Block& block, const Addition& sum) {
    block.mlp_out = sum.part;
    block.mlp_post = last_product_input(sum.part);
    block.resid_post = sum.sum;
    if (block.post_norm)
      if (const ValueId norm = only_norm(sum.sum); norm != kNone) block.resid_post = norm;
  }

  /// Numbers the layers of each stack. The stream of a block begins where that of the block before ends, even if it is
  /// scaled between; otherwise a stack begins.
  void name_stacks() {
    std::erase_if(blocks_, [](const Block& block) { return block.resid_post == kNone; });
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const bool follows = i > 0 && flow_.ancestors(blocks_[i].resid_pre)[at(blocks_[i - 1].resid_post)];
      if (follows)
        blocks_[i - 1].resid_post = blocks_[i].resid_pre;
      else
        begins.push_back(i);
    }
    for (std::size_t i = 0, stack = 0; i < blocks_.size(); ++i) {
      if (stack + 1 < begins.size() && begins[stack + 1] == i) ++stack;
      blocks_[i].layer = static_cast<int>(i - begins[stack]);
      const bool is_last = stack + 1 == begins.size();
      if (begins.size() > 1)
        blocks_[i].stack = is_last ? "decoder" : begins.size() == 2 ? "encoder" : fmt::format("encoder{}", stack);
    }
  }

  const graph::Graph& graph_;
  DataFlow flow_;
  std::vector<Block> blocks_;
  ValueId expects_cross_ = kNone;  // the sum that a cross-attention of the last block makes
};

}  // namespace

std::vector<std::pair<std::string, const AttentionPart*>> Block::attentions() const {
  std::vector<std::pair<std::string, const AttentionPart*>> out = {{"", &self}};
  if (cross) out.emplace_back("cross.", &*cross);
  return out;
}

std::string Block::name(const std::string& kind) const {
  return fmt::format("{}{}.{}", stack.empty() ? "" : stack + ".", kind, layer);
}

std::vector<Block> find_blocks(const graph::Graph& graph) { return BlockFinder(graph).find(); }

}  // namespace attn::probe
