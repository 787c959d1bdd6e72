#include "hugging_face/wide_blocks.h"

#include <array>

#include "hugging_face/layout.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

/// Pads a tensor with zeros at the end of an axis.
Tensor filled_up(const Tensor& tensor, int axis, Dim size) {
  Shape rest = tensor.shape();
  rest[axis] = size - rest[axis];
  return joined(std::array{tensor, Tensor(tensor.dtype(), rest)}, axis);
}

}  // namespace

WideWeights with_wide_blocks(std::span<const WeightSpec> specs, std::span<const Tensor> tensors,
                             const NameTable& table) {
  WideWeights out{{specs.begin(), specs.end()}, {tensors.begin(), tensors.end()}};
  if (table.padded.empty()) return out;
  Dim width = 0;
  for (const WeightSpec& spec : specs)
    if (spec.path.ends_with(table.padded.front().ending)) width = spec.shape[0];
  for (std::size_t i = 0; i < out.specs.size(); ++i) {
    WeightSpec& spec = out.specs[i];
    for (const InnerAxis& inner : table.padded) {
      if (!spec.path.ends_with(inner.ending) || spec.shape[inner.axis] >= 4 * width) continue;
      spec.shape[inner.axis] = 4 * width;
      out.tensors[i] = filled_up(out.tensors[i], inner.axis, 4 * width);
    }
  }
  return out;
}

}  // namespace attn::weights
