// Convolutions and poolings. ONNX has channels after the batch axis, the graph has them last.
#include "attn/graph/window.h"

#include <algorithm>
#include <numeric>

#include "emit.h"

namespace attn::onnx {
namespace {

std::vector<int> channels_first(int rank) {
  std::vector<int> order{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) order.push_back(i);
  return order;
}

std::vector<int> channels_last(int rank) {
  std::vector<int> order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

/// Returns the padding attribute: explicit sizes, or the rule (SAME, VALID) if a length is open.
Attribute padding_of(const Step& step, graph::Padding padding, const Ints& window, const Ints& strides,
                     const Ints& dilation) {
  const Sizes x = step.in_sizes(0);
  const std::size_t spatial = window.size();
  const bool open = std::any_of(x.begin() + 1, x.end() - 1, [](const auto& size) { return !size || !size->fixed(); });
  if (padding == graph::Padding::same && open) return {"auto_pad", std::string("SAME_UPPER")};
  Ints pads(2 * spatial, 0);
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t reach = (window[i] - 1) * dilation[i] + 1;
    if (padding == graph::Padding::causal) pads[i] = reach - 1;
    if (padding != graph::Padding::same) continue;
    const Dim dim = x[i + 1]->offset;
    const graph::Windows windows = graph::windows_of(dim, window[i], strides[i], dilation[i], padding);
    pads[i] = windows.before;
    pads[spatial + i] = std::max<std::int64_t>((windows.count - 1) * strides[i] + reach - dim - windows.before, 0);
  }
  return {"pads", pads};
}

}  // namespace

Names emit(const Step& step, const graph::Conv& op) {
  Emitter& e = step.emitter;
  const int rank = step.rank(0);
  const Shape& kernel = step.input(1).shape;  // (window…, C/groups, F)
  std::vector<int> order{rank - 1, rank - 2};
  for (int i = 0; i + 2 < rank; ++i) order.push_back(i);
  Names inputs{e.transpose(step.in[0], channels_first(rank)), e.transpose(step.in[1], order)};
  if (op.bias) inputs.push_back(step.in[2]);
  const Ints window(kernel.begin(), kernel.end() - 2);
  const Name result = e.node("Conv", std::move(inputs),
                             {{"kernel_shape", window},
                              {"strides", op.strides},
                              {"dilations", op.dilation},
                              {"group", op.groups},
                              padding_of(step, op.padding, window, op.strides, op.dilation)});
  return {apply(op.activation, {&e, e.transpose(result, channels_last(rank)), step.output().dtype}).name};
}

Names emit(const Step& step, const graph::Pool& op) {
  Emitter& e = step.emitter;
  const int rank = step.rank(0);
  const Term x = step.term(0);
  const bool whole = !is_floating(x.dtype);
  const Term wide = whole ? x.cast(DType::float32) : x;
  const Ints dilation(op.window.size(), 1);
  const Name result = e.node(op.average ? "AveragePool" : "MaxPool", {e.transpose(wide.name, channels_first(rank))},
                             {{"kernel_shape", op.window},
                              {"strides", op.strides},
                              padding_of(step, op.padding, op.window, op.strides, dilation)});
  const Term out{&e, e.transpose(result, channels_last(rank)), wide.dtype};
  return {out.cast(x.dtype).name};
}

}  // namespace attn::onnx
