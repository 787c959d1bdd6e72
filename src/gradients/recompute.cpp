// Recomputation of activations (gradient checkpointing).
#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/gradients/passes.h"

namespace attn::gradients {

using graph::at;
using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::ValueId;

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Returns whether a part of the model is formed around this node.
bool is_anchor(const Node& node) {
  return std::holds_alternative<graph::Attention>(node.op) || std::holds_alternative<graph::Rnn>(node.op) ||
         std::holds_alternative<graph::DeltaRule>(node.op);
}

class Recomputation {
 public:
  Recomputation(Graph& graph, std::size_t forward)
      : graph_(graph), forward_(forward), maker_(graph.values.size(), kNowhere), kept_(graph.values.size(), false) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const ValueId id : graph.nodes[i].outputs) maker_[at(id)] = i;
  }

  void run() {
    cut();
    if (cuts_.empty()) return;
    keep();
    copy_of_.assign(graph_.values.size(), kNone);
    needed_.resize(cuts_.size());  // the last part is still in memory when the backward pass begins
    first_reader_.assign(cuts_.size(), kNowhere);
    for (std::size_t i = forward_; i < graph_.nodes.size(); ++i) note_reads(i);
    const std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t part = 0; part < cuts_.size(); ++part)
        if (first_reader_[part] == i) copy_part(nodes, part);
      Node node = nodes[i];
      if (i >= forward_)
        for (ValueId& id : node.inputs) id = now(id);
      graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  [[nodiscard]] bool is_forward(ValueId id) const { return maker_[at(id)] < forward_; }
  [[nodiscard]] std::size_t part_of(std::size_t node) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(cuts_, node) - cuts_.begin());
  }
  [[nodiscard]] ValueId now(ValueId id) const {
    return at(id) < copy_of_.size() && copy_of_[at(id)] != kNone ? copy_of_[at(id)] : id;
  }

  /// Cuts between two anchors at the place that the fewest bytes cross, the last one among equals. Without two anchors,
  /// cuts into parts of about equally many nodes.
  void cut() {
    const std::vector<double> crossing = bytes_across();
    std::vector<std::size_t> anchors;
    for (std::size_t i = 0; i < forward_; ++i)
      if (is_anchor(graph_.nodes[i])) anchors.push_back(i);
    if (anchors.size() < 2) {
      anchors.clear();
      const auto count = static_cast<std::size_t>(std::sqrt(static_cast<double>(forward_)));
      for (std::size_t i = 1; i <= count; ++i) anchors.push_back(forward_ * i / (count + 1));
    }
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      const std::size_t first = i == 0 ? 1 : anchors[i - 1] + 1;
      std::size_t best = kNowhere;
      for (std::size_t place = first; place <= anchors[i]; ++place)
        if (best == kNowhere || crossing[place] <= crossing[best]) best = place;
      if (best != kNowhere && best < forward_) cuts_.push_back(best);
    }
  }

  /// Returns for each place the number of bytes that nodes before it produce and forward nodes from it on read.
  [[nodiscard]] std::vector<double> bytes_across() const {
    std::vector<std::size_t> last(graph_.values.size(), 0);
    for (std::size_t i = 0; i < forward_; ++i)
      for (const ValueId id : graph_.nodes[i].inputs) last[at(id)] = i;
    std::vector<double> change(forward_ + 2, 0.0);
    for (std::size_t id = 0; id < last.size(); ++id) {
      if (maker_[id] >= forward_ || last[id] <= maker_[id]) continue;
      const graph::Value& value = graph_.values[id];
      const double bytes = static_cast<double>(value.shape.size()) * static_cast<double>(bytes_of(value.dtype));
      change[maker_[id] + 1] += bytes;
      change[last[id] + 1] -= bytes;
    }
    for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
    return change;
  }

  /// Marks values that a later part reads, and outputs, as kept.
  void keep() {
    for (std::size_t i = 0; i < forward_; ++i)
      for (const ValueId id : graph_.nodes[i].inputs)
        if (is_forward(id) && part_of(maker_[at(id)]) != part_of(i)) kept_[at(id)] = true;
    for (const graph::Output& output : graph_.outputs) kept_[at(output.value)] = true;
    for (const graph::Scores& scores : graph_.scores) kept_[at(scores.value)] = true;
  }

  void note_reads(std::size_t node) {
    for (const ValueId id : graph_.nodes[node].inputs) {
      if (!is_forward(id) || kept_[at(id)]) continue;
      const std::size_t part = part_of(maker_[at(id)]);
      if (part == cuts_.size()) continue;
      needed_[part].push_back(id);
      first_reader_[part] = std::min(first_reader_[part], node);
    }
  }

  /// Repeats those nodes of a part whose results are needed.
  void copy_part(const std::vector<Node>& nodes, std::size_t part) {
    std::vector<bool> wanted(maker_.size(), false);
    for (const ValueId id : needed_[part]) wanted[at(id)] = true;
    const std::size_t begin = part == 0 ? 0 : cuts_[part - 1], end = cuts_[part];
    std::vector<std::size_t> copied;
    for (std::size_t i = end; i-- > begin;) {
      const Node& node = nodes[i];
      if (std::ranges::none_of(node.outputs, [&](ValueId id) { return wanted[at(id)]; })) continue;
      copied.push_back(i);
      for (const ValueId id : node.inputs)
        if (is_forward(id) && !kept_[at(id)]) wanted[at(id)] = true;
    }
    std::ranges::reverse(copied);
    for (const std::size_t i : copied) {
      Node node = nodes[i];
      for (ValueId& id : node.inputs) id = now(id);
      for (ValueId& id : node.outputs) {
        const graph::Value value = graph_.value(id);
        graph_.values.push_back(value);
        const auto copy = static_cast<ValueId>(graph_.values.size() - 1);
        if (!kept_[at(id)]) copy_of_[at(id)] = copy;
        id = copy;
      }
      graph_.nodes.push_back(std::move(node));
    }
  }

  Graph& graph_;
  std::size_t forward_;
  std::vector<std::size_t> maker_;  // the producer of each value, or kNowhere
  std::vector<bool> kept_;          // for each value, whether the backward pass finds it in memory
  std::vector<std::size_t> cuts_;   // the first node of each part except the first part
  std::vector<std::vector<ValueId>> needed_;
  std::vector<std::size_t> first_reader_;  // for each part, the first node that reads a repeated result
  std::vector<ValueId> copy_of_;           // for each value, its repeated copy
};

}  // namespace

Graph recompute(Graph graph, std::size_t forward) {
  Recomputation(graph, forward).run();
  return graph;
}

}  // namespace attn::gradients
