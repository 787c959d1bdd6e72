#include "attn/run/hidden_queries.h"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace attn::run {
namespace {

/// Returns the node that computes the scores. Scores over several axes are a reshape of its output. Returns null if the
/// node is not an attention.
const graph::Node* attention_of(const graph::Graph& graph, graph::ValueId scores) {
  for (const graph::Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), scores) == node.outputs.end()) continue;
    if (std::holds_alternative<graph::Reshape>(node.op)) return attention_of(graph, node.inputs.front());
    return std::holds_alternative<graph::Attention>(node.op) ? &node : nullptr;
  }
  return nullptr;
}

std::span<const graph::ValueId> masks_in(const graph::Node& node) {
  const auto count = static_cast<std::size_t>(std::get<graph::Attention>(node.op).masks);
  return std::span(node.inputs).last(count);
}

/// The mask of one batch item. It broadcasts to (B, N, T, S) and hides a query only if all heads hide it.
class ItemMask {
 public:
  ItemMask(const Tensor& mask, std::int64_t item) : mask_(mask) {
    const Shape& shape = mask.shape();
    for (int axis = 1; axis <= shape.rank() && axis <= 4; ++axis) size_[4 - axis] = shape[-axis];
    first_ = size_[0] > 1 ? item * size_[1] * size_[2] * size_[3] : 0;
  }

  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    const std::int64_t row = size_[2] > 1 ? query : 0, column = size_[3] > 1 ? key : 0;
    for (std::int64_t head = 0; head < size_[1]; ++head)
      if (mask_.at(first_ + (head * size_[2] + row) * size_[3] + column) != 0.0) return true;
    return false;
  }

 private:
  const Tensor& mask_;
  std::int64_t size_[4] = {1, 1, 1, 1};
  std::int64_t first_ = 0;
};

}  // namespace

std::vector<graph::ValueId> masks_of_scores(const graph::Graph& graph) {
  std::vector<graph::ValueId> out;
  for (const graph::Scores& scores : graph.scores)
    if (const graph::Node* node = attention_of(graph, scores.value))
      for (const graph::ValueId mask : masks_in(*node))
        if (std::find(out.begin(), out.end(), mask) == out.end()) out.push_back(mask);
  return out;
}

std::vector<bool> hidden_queries(const graph::Graph& graph, graph::ValueId scores, std::int64_t item,
                                 const std::function<Tensor(graph::ValueId)>& value_of) {
  const graph::Node* node = attention_of(graph, scores);
  if (node == nullptr || masks_in(*node).empty()) return {};
  const auto& how = std::get<graph::Attention>(node->op);
  std::vector<Tensor> tensors;
  for (const graph::ValueId mask : masks_in(*node)) tensors.push_back(value_of(mask));
  std::vector<ItemMask> masks;
  for (const Tensor& tensor : tensors) masks.emplace_back(tensor, item);
  const Shape& shape = graph.value(node->outputs[1]).shape;  // (B, N, T, S)
  const std::int64_t queries = shape[-2], keys = shape[-1];
  std::vector<bool> out(static_cast<std::size_t>(queries), true);
  for (std::int64_t query = 0; query < queries; ++query)
    for (std::int64_t key = 0; key < keys && out[static_cast<std::size_t>(query)]; ++key) {
      const bool in_reach = !(how.causal && key > query) && !(how.window && std::abs(query - key) >= *how.window);
      const bool is_seen =
          in_reach && std::all_of(masks.begin(), masks.end(), [&](const auto& mask) { return mask.sees(query, key); });
      out[static_cast<std::size_t>(query)] = !is_seen;
    }
  return out;
}

}  // namespace attn::run
