#include "fusion.h"

#include <algorithm>

#include "kernels/fused.h"

namespace attn::cuda {
namespace {

bool is_hot(DType dtype) { return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16; }

bool overlap(const Operand& a, const Operand& b) { return a.data < b.data + b.bytes() && b.data < a.data + a.bytes(); }

/// Returns whether a write to `out` cannot overwrite `inputs` that are still read. With `in_place`, an input at the
/// same address with the same size is safe, because it is read and written element by element.
bool safe(const Operand& out, const std::vector<Operand>& inputs, bool in_place) {
  return std::ranges::none_of(inputs, [&](const Operand& input) {
    const bool same = input.data == out.data && input.bytes() == out.bytes();
    return overlap(out, input) && !(same && in_place);
  });
}

bool is_add(const Step& step) {
  const auto* binary = std::get_if<graph::Binary>(&step.op);
  return binary != nullptr && binary->fn == graph::BinaryFn::add;
}

/// Fuses the sum x + residual with the normalization of its last axis.
std::optional<Choice> fuse_add_norm(const Step& add, const Step& norm, bool sum_is_kept) {
  const auto* op = std::get_if<graph::LayerNorm>(&norm.op);
  if (op == nullptr || !is_add(add) || op->kind == graph::NormKind::rms_layer) return std::nullopt;
  const Operand& sum = add.outputs[0];
  const Shape& shape = sum.shape;
  if (norm.inputs[0].data != sum.data || norm.inputs[0].shape != shape || !is_hot(sum.dtype)) return std::nullopt;
  if (add.inputs[0].shape != shape || add.inputs[1].shape != shape) return std::nullopt;
  if (op->axes != std::vector<int>{shape.rank() - 1}) return std::nullopt;
  const auto parameters = norm_parameters(*op, norm);
  if (!parameters) return std::nullopt;
  const Operand& y = norm.outputs[0];
  const std::vector<Operand> others(norm.inputs.begin() + 1, norm.inputs.end());
  if (!safe(y, add.inputs, true) || !safe(y, others, false) || (sum_is_kept && overlap(y, sum))) {
    return std::nullopt;
  }
  NormStep step;
  step.dtype = sum.dtype;
  step.columns = shape.back();
  step.rows = sum.size() / step.columns;
  step.x = add.inputs[0].data;
  step.residual = add.inputs[1].data;
  step.sum = sum_is_kept ? sum.data : nullptr;
  step.parameters = *parameters;
  step.kind = op->kind;
  step.epsilon = op->epsilon;
  step.y = y.data;
  return Choice("add + layer_norm",
                [step, &device = norm.device](cudaStream_t stream) { launch_add_layer_norm(step, device, stream); });
}

/// Fuses the lookup of table rows with the sum of repeating rows: token and position embeddings.
std::optional<Choice> fuse_gather_add(const Step& gather, const Step& add, bool rows_are_kept) {
  const auto* op = std::get_if<graph::Gather>(&gather.op);
  if (op == nullptr || op->axis != 0 || rows_are_kept || !is_add(add)) return std::nullopt;
  const Operand& table = gather.inputs[0];
  const Operand& rows = gather.outputs[0];
  const Operand& y = add.outputs[0];
  const std::size_t which = add.inputs[0].data == rows.data ? 0 : 1;
  const Operand& position = add.inputs[1 - which];
  if (add.inputs[which].data != rows.data || add.inputs[which].shape != y.shape || !is_hot(y.dtype))
    return std::nullopt;
  if (table.shape.rank() != 2 || position.data == rows.data) return std::nullopt;
  // The positions must repeat as a whole: their shape without leading axes of 1 is a suffix of y's shape.
  const Shape& small = position.shape;
  int first = 0;
  while (first < small.rank() && small[first] == 1) ++first;
  const int rank = small.rank() - first;
  if (rank < 1 || rank > y.shape.rank() ||
      small.slice(first, small.rank()) != y.shape.slice(y.shape.rank() - rank, y.shape.rank()))
    return std::nullopt;
  if (!safe(y, gather.inputs, false) || !safe(y, {position}, true)) return std::nullopt;
  GatherAddStep step;
  step.dtype = y.dtype;
  step.columns = table.shape[1];
  step.table = table.data;
  step.size = table.shape[0];
  step.indices = array_of(gather.inputs[1]);
  step.count = gather.inputs[1].size();
  step.position = position.data;
  step.period = position.size() / step.columns;
  step.y = y.data;
  step.report = reporter_of(gather);
  return Choice("gather + add", [step](cudaStream_t stream) { launch_gather_add(step, stream); });
}

}  // namespace

std::optional<Choice> fuse(const Step& first, const Step& second, bool first_is_kept) {
  const bool empty = std::ranges::any_of(first.outputs, [](const Operand& out) { return out.size() == 0; });
  if (empty) return std::nullopt;
  if (auto choice = fuse_add_norm(first, second, first_is_kept)) return choice;
  return fuse_gather_add(first, second, first_is_kept);
}

}  // namespace attn::cuda
