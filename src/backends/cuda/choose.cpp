#include "choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attention/attention.h"
#include "attn/base/error.h"
#include "kernels/fault.h"
#include "kernels/plain.h"
#include "kernels/walk.h"

namespace attn::cuda {
namespace {

bool is_empty(const Operand& operand) { return operand.size() == 0; }

HeadsView view_of(std::byte* data, const Shape& shape) {  // (B, rows, heads, size)
  return {data, shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]};
}

/// Writes the strides of `array` broadcast to the shape (B, N, T, S).
void read_as_scores(const Operand& array, const Shape& scores, std::int64_t (&strides)[4]) {
  const Steps steps = broadcast_steps(array.shape, scores);
  std::ranges::copy(steps, strides);
}

/// Reads the fields that both operations share, and the bias and masks among the inputs from `first` on.
void read_fields(const auto& op, const Step& step, std::size_t first, AttentionProblem& problem) {
  problem.dtype = step.inputs[0].dtype;
  problem.context = view_of(step.outputs[0].data, step.outputs[0].shape);
  problem.scale = op.scale;
  problem.soft_cap = op.soft_cap;
  problem.path = op.path;
  problem.causal = op.causal;
  problem.window = op.window.value_or(0);
  if (op.masks > kMaxMasks) throw internal_error("an attention with {} masks", op.masks);
  const Shape scores{problem.B, problem.N, problem.T, problem.S};
  if (op.bias) {
    const Operand& bias = step.inputs[first++];
    problem.bias.data = bias.data;
    read_as_scores(bias, scores, problem.bias.strides);
  }
  while (problem.masks < op.masks) {
    const Operand& mask = step.inputs[first++];
    MaskView& view = problem.mask[problem.masks++];
    view.data = mask.as<const bool>();
    read_as_scores(mask, scores, view.strides);
  }
}

AttentionProblem problem_of(const graph::Attention& op, const Step& step) {
  AttentionProblem problem;
  const Operand& query = step.inputs[0];
  const bool packed = op.packed_heads > 0;
  problem.B = query.shape[0];
  problem.T = query.shape[1];
  problem.H = query.shape[3];
  problem.query = view_of(query.data, query.shape);
  problem.key_dtype = query.dtype;
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
  if (op.scores) problem.scores = step.outputs[1].data;
  const std::size_t first = packed ? 1 : 3;
  if (op.varlen > 0) {
    problem.starts = step.inputs[first].as<const std::int32_t>();
    problem.B = step.inputs[first].shape[0] - 1;
    problem.T = problem.S = op.varlen;
    problem.rows = query.shape[0] * query.shape[1];
  }
  read_fields(op, step, first, problem);
  return problem;
}

// (C, K, S, H); batch entry b uses cache entry b·step.
HeadsView view_of_cache(const Operand& cache, std::int64_t step) {
  const Shape& shape = cache.shape;
  return {cache.data, step * shape[1] * shape[2] * shape[3], shape[3], shape[2] * shape[3]};
}

AttentionProblem problem_of(const graph::CachedAttention& op, const Step& step) {
  AttentionProblem problem;
  const Operand &query = step.inputs[0], &keys = step.inputs[1], &values = step.inputs[2];
  problem.B = query.shape[0];
  problem.T = query.shape[1];
  problem.N = query.shape[2];
  problem.H = query.shape[3];
  problem.K = keys.shape[1];
  problem.S = keys.shape[2];
  problem.V = values.shape[3];
  problem.query = view_of(query.data, query.shape);
  problem.key_dtype = keys.dtype;
  problem.entries = keys.shape[0];
  const std::int64_t each = op.sources ? 1 : problem.entries / problem.B;
  problem.key = view_of_cache(keys, each);
  problem.value = view_of_cache(values, each);
  problem.length = step.inputs[3].as<const std::int32_t>();
  if (op.sources) problem.sources = step.inputs[4].as<const std::int32_t>();
  problem.report = reporter_of(step);
  read_fields(op, step, op.sources ? 5 : 4, problem);
  return problem;
}

/// Selects the attention kernel for the problem, with the reasons of the kernels that do not support it.
Chosen chosen_for(const AttentionProblem& problem, const Step& step) {
  std::string declined;
  for (const AttentionKernel& kernel : attention_kernels()) {
    const std::string why = kernel.why_not(problem, step.device);
    if (why.empty()) return {std::string(kernel.name), kernel.prepare(problem, step.device), std::move(declined)};
    declined += fmt::format("{}{}: {}", declined.empty() ? "" : "; ", kernel.name, why);
  }
  throw internal_error("no attention kernel takes it");
}

[[noreturn]] void no_kernel(const Step& step, const Choice& choice) {
  throw Error(ExitCode::no_device,
              fmt::format("no CUDA kernel for {}: {}; the CPU has one", graph::name_of(step.op), choice.why_not));
}

}  // namespace

Chosen choose(const Step& step, const ProductOptions& options) {
  if (std::ranges::all_of(step.outputs, is_empty)) return {"nothing to do", [](cudaStream_t) {}, ""};
  if (const auto* op = std::get_if<graph::Attention>(&step.op)) {
    if (op->lse)
      no_kernel(step,
                Choice("the GPU does not return the log-sum-exp yet, which training and sequence parallelism need"));
    return chosen_for(problem_of(*op, step), step);
  }
  if (const auto* op = std::get_if<graph::CachedAttention>(&step.op)) return chosen_for(problem_of(*op, step), step);
  std::string why;
  const auto made = [&](Choice choice) {
    if (!choice.made()) why += (why.empty() ? "" : "; ") + choice.why_not;
    return choice;
  };
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
  if (!plain.made()) no_kernel(step, plain);
  return {std::move(plain.name), std::move(plain.launch), std::move(why)};
}

}  // namespace attn::cuda
