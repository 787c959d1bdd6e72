#include "quantized_scratch.h"

#include "fixed_point_gemv.h"
#include "kernel.h"

namespace attn::backends::cpu {
namespace {

std::int64_t line(std::int64_t bytes) {
  constexpr auto kLine = static_cast<std::int64_t>(kAlignment);
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

QuantizedSize quantized_size(const StepInfo& step) {
  const auto& op = step.op<graph::QuantizedLinear>();
  const Shape& x = step.inputs[0].shape;
  return {x.slice(0, x.rank() - op.contracted).size(), x.slice(x.rank() - op.contracted, x.rank()).size(),
          op.units.size(), op.grouped ? step.inputs[2].shape[op.transposed ? 1 : 0] : 1};
}

bool is_by_dots(const graph::QuantizedLinear& op) {
  return op.inputs && !op.grouped && !op.rounded && op.pairs == graph::Pairs::none;
}

IntegerForm integer_form(const graph::QuantizedLinear& op) {
  if (is_by_dots(op)) return IntegerForm::quads;
  return op.pairs == graph::Pairs::none ? IntegerForm::bytes : IntegerForm::nibbles;
}

CachedBlocks::CachedBlocks(const QuantizedSize& size) {
  constexpr std::int64_t kBytes = 400 << 10, kApart = 2 * kPanel;
  rows = std::min(kMostBlockRows, kBytes / (size.width * bytes_of(DType::float32)));
  stride = size.panels() * kPanel + kApart;
}

bool leaves_rows(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads) {
  constexpr std::int64_t kLeastRows = 16, kBlocksPerThread = 4;
  const std::int64_t rows = CachedBlocks(size).rows;
  return is_by_dots(op) && !op.residual && rows >= kLeastRows && size.rows >= kBlocksPerThread * threads * rows;
}

QuantizedScratch::QuantizedScratch(const graph::QuantizedLinear& op, const QuantizedSize& size, int threads) {
  const bool is_quads = integer_form(op) == IntegerForm::quads;
  row_bytes = line(is_quads ? quads_of(size.depth) * 4 : bytes_times({size.depth, bytes_of(DType::float32)}));
  rows = bytes_times({size.rows, row_bytes});
  scales = line(bytes_times({size.rows, bytes_of(DType::float32)}));
  thread = line(kMostBlockRows * kPanel * bytes_of(DType::float32));
  if (!is_quads) thread += line(bytes_times({size.depth, kPanel, bytes_of(DType::float32)}));
  if (!is_quads && size.rows <= kMostFixedPointRows) {
    row_digits = line(fixed_point_bytes(integer_form(op), size.depth, size.groups));
    digits = size.rows * row_digits;
  }
  if (leaves_rows(op, size, threads)) {
    const CachedBlocks blocks(size);
    left = thread;
    thread += line(bytes_times({blocks.rows, blocks.stride, bytes_of(DType::float32)}));
  }
  total = rows + scales + digits + bytes_times({threads, thread});
}

}  // namespace attn::backends::cpu
