#include "pixel_view.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "attn/graph/range.h"

namespace attn::open {
namespace {

using graph::Graph;
using graph::ValueId;

bool is_output(const Graph& graph, ValueId value) {
  return std::ranges::find(graph.outputs, value, &graph::Output::value) != graph.outputs.end();
}

/// Returns the only node that reads the value, if its result is no output; otherwise the end.
std::vector<graph::Node>::iterator only_reader(Graph& graph, ValueId value) {
  const auto reads = [&](const graph::Node& node) {
    return std::ranges::find(node.inputs, value) != node.inputs.end();
  };
  if (is_output(graph, value) || std::ranges::count_if(graph.nodes, reads) != 1) return graph.nodes.end();
  const auto found = std::ranges::find_if(graph.nodes, reads);
  return is_output(graph, found->outputs.front()) ? graph.nodes.end() : found;
}

void replace(Graph& graph, ValueId from, ValueId to) {
  for (graph::Node& node : graph.nodes) std::ranges::replace(node.inputs, from, to);
  for (graph::Layer& layer : graph.layers) std::ranges::replace(layer.outputs, from, to);
}

}  // namespace

PixelView::PixelView(Dim height, Dim width, bool channels_first, Graph& graph) {
  shape_ = channels_first ? Shape{1, 3, height, width} : Shape{1, height, width, 3};
  const std::int64_t row = width * 3, all = height * row;
  if (channels_first) {
    strides_ = {all, 1, row, 3};
  } else {
    strides_ = {all, row, 3, 1};
  }
  const ValueId input = graph.inputs.front();
  for (auto node = only_reader(graph, input); node != graph.nodes.end() && apply(node->op);
       node = only_reader(graph, input)) {
    const ValueId result = node->outputs.front();
    graph.value(input).shape = graph.value(result).shape;
    graph.value(input).dtype = graph.value(result).dtype;
    graph.nodes.erase(node);
    replace(graph, result, input);
  }
}

bool PixelView::apply(const graph::Op& op) {
  if (const auto* cast = std::get_if<graph::Cast>(&op)) return is_floating(cast->dtype);  // holds every uint8
  if (const auto* transpose = std::get_if<graph::Transpose>(&op)) {
    const PixelView old = *this;
    for (std::size_t axis = 0; axis < kRank; ++axis) {
      const int from = transpose->permutation[axis];
      shape_[static_cast<int>(axis)] = old.shape_[from];
      strides_[axis] = old.strides_[static_cast<std::size_t>(from)];
    }
    return true;
  }
  const auto* slice = std::get_if<graph::Slice>(&op);
  if (slice == nullptr) return false;
  for (std::size_t axis = 0; axis < kRank; ++axis) {
    Dim& size = shape_[static_cast<int>(axis)];
    const graph::ResolvedSlice range = graph::pick(slice->ranges[axis], size);
    first_ += range.start * strides_[axis];
    strides_[axis] *= range.step;
    size = range.count;
  }
  return true;
}

void PixelView::copy(const Tensor& pixels, const Tensor& input) const {
  // Without blocks, a transposed image would touch another page for each of its elements.
  constexpr Dim kBlock = 256;
  const std::uint8_t* const from = pixels.as<std::uint8_t>().data() + first_;
  const Dim rows = shape_[1], columns = shape_[2], cells = shape_[3];
  const auto fill = [&](const auto& put) {
    for (Dim begin = 0; begin < cells; begin += kBlock) {
      const Dim end = std::min(begin + kBlock, cells);
      for (Dim line = 0; line < shape_[0] * rows * columns; ++line) {
        const std::uint8_t* const own = from + line / (rows * columns) * strides_[0] +
                                        line / columns % rows * strides_[1] + line % columns * strides_[2];
        for (Dim cell = begin; cell < end; ++cell) put(line * cells + cell, own[cell * strides_[3]]);
      }
    }
  };
  if (input.dtype() == DType::float32) {
    fill([to = input.as<float>().data()](Dim at, std::uint8_t value) { to[at] = value; });
  } else {
    fill([&](Dim at, std::uint8_t value) { input.set(at, value); });
  }
}

}  // namespace attn::open
