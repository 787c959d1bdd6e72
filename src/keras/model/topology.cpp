#include "model/topology.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

namespace attn::keras {
namespace {

enum class State : std::uint8_t { fresh, open, done };

struct Frame {
  NodeKey node;
  std::size_t next_parent = 0;
};

}  // namespace

Topology map_graph(const std::vector<std::vector<std::vector<NodeKey>>>& parents, const std::vector<int>& inputs,
                   const std::vector<NodeKey>& outputs) {
  const auto parents_of = [&](NodeKey node) -> const std::vector<NodeKey>& {
    return parents[static_cast<std::size_t>(node.operation)][static_cast<std::size_t>(node.index)];
  };
  std::vector<std::vector<State>> state(parents.size());
  for (std::size_t i = 0; i < parents.size(); ++i) state[i].resize(std::max<std::size_t>(parents[i].size(), 1));
  const auto state_of = [&](NodeKey node) -> State& {
    return state[static_cast<std::size_t>(node.operation)][static_cast<std::size_t>(node.index)];
  };

  // Depth first from each output, with an explicit stack, because a model may be deeper than the call stack allows.
  std::vector<NodeKey> sorted;                     // in order from inputs to outputs
  std::vector<int> traversal(parents.size(), -1);  // position of each operation in the order of first visits
  int met = 0;
  for (const NodeKey& output : outputs) {
    if (state_of(output) == State::done) continue;
    std::vector<Frame> stack{{output}};
    const auto enter = [&](NodeKey node) {
      state_of(node) = State::open;
      int& index = traversal[static_cast<std::size_t>(node.operation)];
      if (index < 0) index = met++;
    };
    enter(output);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto& from = parents_of(frame.node);
      if (frame.next_parent < from.size()) {
        const NodeKey parent = from[frame.next_parent++];
        if (state_of(parent) == State::open) throw CycleAt{parent};
        if (state_of(parent) == State::done) continue;
        enter(parent);
        stack.push_back({parent});
      } else {
        state_of(frame.node) = State::done;
        sorted.push_back(frame.node);
        stack.pop_back();
      }
    }
  }

  // The depth of a node is the length of the longest path from it to an output. Python's dicts keep insertion order,
  // which decides ties among nodes.
  std::vector<std::vector<int>> depth(parents.size());
  for (std::size_t i = 0; i < parents.size(); ++i) depth[i].assign(std::max<std::size_t>(parents[i].size(), 1), -1);
  std::vector<int> operation_depth(parents.size(), -1);
  std::vector<NodeKey> inserted;
  const auto depth_of = [&](NodeKey node) -> int& {
    return depth[static_cast<std::size_t>(node.operation)][static_cast<std::size_t>(node.index)];
  };
  const auto set_depth = [&](NodeKey node, int value) {
    if (depth_of(node) < 0) inserted.push_back(node);
    depth_of(node) = value;
  };
  for (auto node = sorted.rbegin(); node != sorted.rend(); ++node) {
    int& of_operation = operation_depth[static_cast<std::size_t>(node->operation)];
    const int own = std::max({depth_of(*node), 0, of_operation});
    of_operation = own;
    set_depth(*node, own);
    for (const NodeKey& parent : parents_of(*node)) set_depth(parent, std::max(own + 1, depth_of(parent)));
  }
  for (const int input : inputs) {
    if (operation_depth[static_cast<std::size_t>(input)] >= 0) continue;
    operation_depth[static_cast<std::size_t>(input)] = 0;
    traversal[static_cast<std::size_t>(input)] = -1;
    set_depth({input, 0}, 0);
  }

  Topology out;
  std::map<int, std::vector<NodeKey>, std::greater<>> by_depth;
  for (const NodeKey& node : inserted) by_depth[depth_of(node)].push_back(node);
  for (auto& [key, nodes] : by_depth) out.by_depth.push_back(std::move(nodes));
  out.calls.resize(parents.size());
  for (const NodeKey& node : inserted) out.calls[static_cast<std::size_t>(node.operation)].push_back(node.index);
  for (std::vector<int>& calls : out.calls) std::sort(calls.begin(), calls.end());

  std::vector<int> order;
  for (std::size_t i = 0; i < parents.size(); ++i)
    if (operation_depth[i] >= 0) order.push_back(static_cast<int>(i));
  // Python's dict of operations is in the order of insertion, and both sorts are stable.
  std::vector<int> first_seen(parents.size(), 0);
  int seen = 0;
  for (auto node = sorted.rbegin(); node != sorted.rend(); ++node) {
    int& index = first_seen[static_cast<std::size_t>(node->operation)];
    if (index == 0) index = ++seen;
  }
  for (const int input : inputs)
    if (first_seen[static_cast<std::size_t>(input)] == 0) first_seen[static_cast<std::size_t>(input)] = ++seen;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    if (operation_depth[i] != operation_depth[j]) return operation_depth[i] > operation_depth[j];
    if (traversal[i] != traversal[j]) return traversal[i] < traversal[j];
    return first_seen[i] < first_seen[j];
  });
  out.operations = std::move(order);
  return out;
}

}  // namespace attn::keras
