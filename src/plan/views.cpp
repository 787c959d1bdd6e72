#include "views.h"

#include <algorithm>

namespace attn::plan {

using graph::BinaryFn;
using graph::Graph;
using graph::Node;
using graph::ReduceFn;

namespace {

// Row-major order depends only on axes with more than one element.
bool keeps_order(const graph::Transpose& op, const Shape& x) {
  int previous = -1;
  for (const int axis : op.permutation) {
    if (x[axis] == 1) continue;
    if (axis < previous) return false;
    previous = axis;
  }
  return true;
}

// Returns whether the reduction gives each number unchanged: a sum, mean or maximum of one number.
bool is_of_single_numbers(const graph::Reduce& op, const Shape& x) {
  if (op.fn == ReduceFn::argmax || op.fn == ReduceFn::argmin || op.fn == ReduceFn::logsumexp) return false;
  return std::all_of(op.axes.begin(), op.axes.end(), [&](int axis) { return x[axis] == 1; });
}

}  // namespace

bool is_view(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  const graph::Value& x = graph.value(node.inputs[0]);
  const graph::Value& out = graph.value(node.outputs[0]);
  if (x.dtype != out.dtype || x.shape.size() != out.shape.size()) return false;
  return std::visit(graph::Overloaded{
                        [](const graph::Unary& op) { return op.fn == graph::UnaryFn::linear; },
                        [](const graph::Cast&) { return true; },
                        [&](const graph::Reduce& op) { return is_of_single_numbers(op, x.shape); },
                        [](const graph::Reshape&) { return true; },
                        [&](const graph::Transpose& op) { return keeps_order(op, x.shape); },
                        [](const graph::Broadcast&) { return true; },
                        [&](const graph::Concat&) { return node.inputs.size() == 1; },
                        [&](const graph::Slice& op) {
                          // A slice with as many elements takes all of them; a negative step would reverse their order.
                          return std::all_of(op.ranges.begin(), op.ranges.end(),
                                             [](const graph::Range& r) { return r.step > 0; });
                        },
                        [](const graph::Pad&) { return true; },
                        [](const auto&) { return false; },
                    },
                    node.op);
}

bool can_overwrite(const Graph& graph, const Node& node, std::size_t i) {
  const graph::Value& x = graph.value(node.inputs[i]);
  const graph::Value& out = graph.value(node.outputs[0]);
  if (x.dtype != out.dtype || x.shape != out.shape) return false;
  if (std::holds_alternative<graph::Unary>(node.op) || std::holds_alternative<graph::UnaryGrad>(node.op)) return true;
  if (std::holds_alternative<graph::Select>(node.op)) return i > 0;
  if (const auto* binary = std::get_if<graph::Binary>(&node.op)) {
    const BinaryFn fn = binary->fn;
    const bool swaps =
        fn == BinaryFn::add || fn == BinaryFn::multiply || fn == BinaryFn::maximum || fn == BinaryFn::minimum;
    return i == 0 || swaps;
  }
  return false;
}

}  // namespace attn::plan
