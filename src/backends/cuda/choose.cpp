#include "choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attention/attention.h"
#include "attn/base/error.h"

namespace attn::cuda {
namespace {

bool is_empty(const Operand& operand) { return operand.size() == 0; }

HeadsView view_of(std::byte* data, const Shape& shape) {  // (B, rows, heads, size)
  return {data, shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
}

MaskView mask_view(const Operand& mask, const Shape& scores) {
  MaskView view;
  view.data = mask.as<const bool>();
  const int added = scores.rank() - mask.shape.rank();
  std::int64_t stride = 1;
  for (int axis = mask.shape.rank() - 1; axis >= 0; --axis) {
    view.strides[axis + added] = mask.shape[axis] == 1 ? 0 : stride;
    stride *= mask.shape[axis];
  }
  return view;
}

AttentionProblem problem_of(const graph::Attention& op, const Step& step) {
  AttentionProblem problem;
  const Operand& query = step.inputs[0];
  const bool packed = op.packed_heads > 0;
  problem.B = query.shape[0];
  problem.T = query.shape[1];
  problem.H = query.shape[3];
  problem.query = view_of(query.data, query.shape);
  if (packed) {
    problem.S = problem.T;
    problem.K = op.packed_heads;
    problem.N = query.shape[2] - 2 * problem.K;
    problem.V = problem.H;
    problem.key = problem.value = problem.query;
    const std::int64_t head_bytes = problem.H * bytes_of(query.dtype);
    problem.key.data += problem.N * head_bytes;
    problem.value.data += (problem.N + problem.K) * head_bytes;
  } else {
    const Shape &key = step.inputs[1].shape, &value = step.inputs[2].shape;
    problem.N = query.shape[2];
    problem.S = key[1];
    problem.K = key[2];
    problem.V = value[3];
    problem.key = view_of(step.inputs[1].data, key);
    problem.value = view_of(step.inputs[2].data, value);
  }
  problem.dtype = query.dtype;
  problem.context = view_of(step.outputs[0].data, step.outputs[0].shape);
  if (op.scores) problem.scores = step.outputs[1].data;
  problem.scale = op.scale;
  problem.path = op.path;
  problem.causal = op.causal;
  problem.window = op.window.value_or(0);
  const std::size_t first = packed ? 1 : 3;
  if (op.varlen > 0) {
    problem.starts = step.inputs[first].as<const std::int32_t>();
    problem.B = step.inputs[first].shape[0] - 1;
    problem.T = problem.S = op.varlen;
    problem.rows = query.shape[0] * query.shape[1];
    return problem;
  }
  const Shape scores{problem.B, problem.N, problem.T, problem.S};
  for (std::size_t i = first; i < step.inputs.size(); ++i) {
    problem.mask[problem.masks++] = mask_view(step.inputs[i], scores);
  }
  return problem;
}

}  // namespace

Choice make_attention(const graph::Attention& op, const Step& step, std::string& declined) {
  if (op.masks > kMaxMasks) throw internal_error("an attention with {} masks", op.masks);
  const AttentionProblem problem = problem_of(op, step);
  for (const AttentionKernel& kernel : attention_kernels()) {
    const std::string why = kernel.why_not(problem, step.device);
    if (why.empty()) return {std::string(kernel.name), kernel.prepare(problem, step.device)};
    declined += fmt::format("{}{}: {}", declined.empty() ? "" : "; ", kernel.name, why);
  }
  return Choice("no attention kernel takes it");
}

Chosen choose(const Step& step, const ProductOptions& options) {
  if (std::ranges::all_of(step.outputs, is_empty)) return {"nothing to do", [](cudaStream_t) {}, ""};
  std::string why;
  const auto made = [&](Choice choice) {
    if (!choice.made()) why += (why.empty() ? "" : "; ") + choice.why_not;
    return choice;
  };
  if (const auto* attention = std::get_if<graph::Attention>(&step.op)) {
    Choice choice = make_attention(*attention, step, why);
    if (!choice.made()) throw internal_error("{}", choice.why_not);
    return {std::move(choice.name), std::move(choice.launch), std::move(why)};
  }
  const bool has_numbers = std::ranges::none_of(step.inputs, is_empty);
  if (has_numbers) {
    Choice product("");
    if (const auto* linear = std::get_if<graph::Linear>(&step.op)) product = made(make_product(*linear, step, options));
    if (const auto* matmul = std::get_if<graph::MatMul>(&step.op)) product = made(make_product(*matmul, step, options));
    if (product.made()) return {std::move(product.name), std::move(product.launch), std::move(why)};
    Choice fast = made(make_fast(step));
    if (fast.made()) return {std::move(fast.name), std::move(fast.launch), std::move(why)};
  }
  Choice plain = make_plain(step);
  if (!plain.made()) throw internal_error("no CUDA kernel for {}: {}", graph::name_of(step.op), plain.why_not);
  return {std::move(plain.name), std::move(plain.launch), std::move(why)};
}

}  // namespace attn::cuda
