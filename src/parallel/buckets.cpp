#include "attn/parallel/buckets.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace attn::parallel {
namespace {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::ValueId;

class Bucketing {
 public:
  Bucketing(Graph& graph, std::int64_t bytes, const RoundedSums& rounded)
      : graph_(graph), limit_(bytes), rounded_(rounded), nodes_(std::exchange(graph.nodes, {})), build_(graph) {
    now_.resize(graph.values.size());
    for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = static_cast<ValueId>(i);
  }

  void run() {
    const std::vector<bool> may_wait = find_last_sums();
    is_waiting_.resize(graph_.values.size(), false);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const bool reads_waiting = std::ranges::any_of(node.inputs, [&](ValueId id) { return is_waiting_[at(id)]; });
      if (may_wait[i] && !reads_waiting) {
        add(node);
      } else if (reads_waiting) {
        readers_.push_back(node);
        wait_for(node);
      } else {
        emit(node);
      }
    }
    while (!buckets_.empty()) flush(buckets_.begin()->first);
    for (const auto& [bucket, kind, all] : sent_) take_apart(bucket, kind, all);
    for (const Node& reader : readers_) emit(reader);
    for (graph::Output& output : graph_.outputs) output.value = now_[at(output.value)];
    for (graph::Scores& scores : graph_.scores) scores.value = now_[at(scores.value)];
    for (graph::Layer& layer : graph_.layers)
      for (ValueId& id : layer.outputs) id = now_[at(id)];
  }

 private:
  /// The dtype of the numbers, and the dtype in which ranks send them.
  using Kind = std::pair<DType, DType>;

  struct Bucket {
    std::vector<Node> sums;
    std::int64_t bytes = 0;
  };

  /// Returns for each node whether it is a sum that no other collective depends on.
  [[nodiscard]] std::vector<bool> find_last_sums() const {
    std::vector<bool> leads_on(graph_.values.size(), false), result(nodes_.size(), false);
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = nodes_[i];
      const bool leads = std::ranges::any_of(node.outputs, [&](ValueId id) { return leads_on[at(id)]; });
      const auto* sum = std::get_if<graph::AllReduce>(&node.op);
      result[i] = sum != nullptr && !sum->maximum && !leads;
      if (leads || graph::is_collective(node.op))
        for (const ValueId id : node.inputs) leads_on[at(id)] = true;
    }
    return result;
  }

  void wait_for(const Node& node) {
    for (const ValueId id : node.outputs) is_waiting_[at(id)] = true;
  }

  void emit(Node node) {
    for (ValueId& id : node.inputs) id = now_[at(id)];
    graph_.nodes.push_back(std::move(node));
  }

  void add(const Node& node) {
    const graph::Value& value = graph_.value(node.inputs[0]);
    const bool is_rounded = value.dtype == DType::float32 && rounded_.sums.contains(node.outputs[0]);
    const Kind kind{value.dtype, is_rounded ? rounded_.dtype : value.dtype};
    Bucket& bucket = buckets_[kind];
    bucket.sums.push_back(node);
    bucket.bytes += value.shape.size() * bytes_of(kind.second);
    wait_for(node);
    if (bucket.bytes >= limit_) flush(kind);
  }

  /// Sends a bucket. The readers of its sums come after all other nodes, which can run during the transfer.
  void flush(Kind kind) {
    const Bucket bucket = std::move(buckets_[kind]);
    buckets_.erase(kind);
    if (bucket.sums.size() == 1 && kind.first == kind.second) return emit(bucket.sums[0]);
    // The bucket's arrays, flattened; they are concatenated for one all-reduce.
    std::vector<ValueId> rows;
    build_.set_layer(bucket.sums.back().layer);
    for (const Node& sum : bucket.sums) {
      const ValueId own = now_[at(sum.inputs[0])];
      rows.push_back(build_.reshape(own, {build_.shape(own).size()}));
    }
    const ValueId all = rows.size() == 1 ? rows[0] : build_.apply(graph::Concat{0}, rows);
    sent_.emplace_back(bucket, kind, build_.apply(graph::AllReduce{}, {build_.cast(all, kind.second)}));
  }

  void take_apart(const Bucket& bucket, Kind kind, ValueId all) {
    build_.set_layer(bucket.sums.back().layer);
    all = build_.cast(all, kind.first);
    Dim from = 0;
    for (const Node& sum : bucket.sums) {
      const Shape shape = build_.shape(sum.outputs[0]);
      graph::Slice part;
      part.ranges.push_back({from, from + shape.size(), 1});
      now_[at(sum.outputs[0])] = build_.reshape(build_.apply(part, {all}), shape);
      from += shape.size();
    }
  }

  Graph& graph_;
  std::int64_t limit_;
  const RoundedSums& rounded_;
  std::vector<Node> nodes_;
  graph::Builder build_;
  std::vector<ValueId> now_;  // the replacement of each value of the old graph
  std::vector<bool> is_waiting_;
  std::map<Kind, Bucket> buckets_;
  std::vector<std::tuple<Bucket, Kind, ValueId>> sent_;  // the all-reduced value of each sent bucket is third
  std::vector<Node> readers_;                            // readers of pending sums, in order
};

}  // namespace

std::set<ValueId> sums_reaching_only(const Graph& graph, const std::set<ValueId>& outputs) {
  // For each value: whether it leads to one of the outputs, and whether anything else reads it.
  std::vector<bool> leads(graph.values.size(), false), strays(graph.values.size(), false);
  for (const graph::Output& output : graph.outputs)
    (outputs.contains(output.value) ? leads : strays)[at(output.value)] = true;
  std::set<ValueId> sums;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const ValueId made = node->outputs[0];
    const bool passes_on = std::visit(
        graph::Overloaded{[](const graph::Reshape&) { return true; }, [](const graph::Transpose&) { return true; },
                          [](const graph::Cast&) { return true; }, [](const graph::Unary&) { return true; },
                          [](const graph::Binary&) { return true; }, [](const auto&) { return false; }},
        node->op);
    if (std::holds_alternative<graph::AllReduce>(node->op) && leads[at(made)] && !strays[at(made)]) sums.insert(made);
    for (const ValueId id : node->inputs)
      (passes_on && leads[at(made)] && !strays[at(made)] ? leads : strays)[at(id)] = true;
  }
  return sums;
}

Graph bucket_sums(Graph graph, std::int64_t bytes, const RoundedSums& rounded) {
  Bucketing(graph, bytes, rounded).run();
  return graph;
}

}  // namespace attn::parallel
