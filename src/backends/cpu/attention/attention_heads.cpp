#include "attention_heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/base/size.h"
#include "operations/loops.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

ATTN_VECTORIZED(void, and_row, std::uint8_t* seen, const std::uint8_t* mask, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) seen[i] = seen[i] != 0 && mask[i] != 0 ? 1 : 0;
}

}  // namespace

float hidden_score(graph::AttentionPath path, DType dtype) {
  if (path == graph::AttentionPath::fused) return -0.7F * std::numeric_limits<float>::max();
  return dtype == DType::float16 ? -3e4F : -1e9F;
}

AttentionHeads::AttentionHeads(const Step& step, const graph::Attention& attention)
    : op(attention), context_(step.outputs[0]), scores_(step.outputs[op.scores ? 1 : 0]), lse_(step.outputs.back()) {
  const bool is_packed = op.packed_heads > 0;
  query_ = step.inputs[0];
  key_ = step.inputs[is_packed ? 0 : 1];
  value_ = step.inputs[is_packed ? 0 : 2];
  B = query_.shape[0];
  T = query_.shape[1];
  S = key_.shape[1];
  N = context_.shape[2];
  K = is_packed ? op.packed_heads : key_.shape[2];
  H = query_.shape[3];
  V = value_.shape[3];
  query_row_ = query_.shape[2] * H;
  key_row_ = key_.shape[2] * H;
  value_row_ = value_.shape[2] * V;
  if (is_packed) {
    first_key_ = N * H;
    first_value_ = (N + K) * H;
  }
  const std::size_t others = is_packed ? 1 : 3;  // index of the input after query, key and value
  if (op.varlen > 0) {
    starts_ = step.inputs[others];
    B = starts_.shape[0] - 1;
    T = S = op.varlen;
  }
  const Shape all{B, N, T, S};
  if (op.bias) bias_.emplace(step.inputs[others], all);
  const std::size_t first_mask = others + (op.bias ? 1 : 0);
  for (int i = 0; i < op.masks; ++i) masks_.emplace_back(step.inputs[first_mask + static_cast<std::size_t>(i)], all);
  scale = static_cast<float>(op.scale);
  // The dtype of the model decides, not the dtype of the computation.
  hidden = cpu::hidden_score(op.path, step.graph.value(step.node.inputs[0]).dtype);
  hidden_score = std::max(hidden / scale, -std::numeric_limits<float>::max());
}

BroadcastToScores::BroadcastToScores(const Operand& array, const Shape& all) : operand(array) {
  std::int64_t stride = 1;
  for (int axis = array.shape.rank() - 1; axis >= 0; --axis) {
    if (array.shape[axis] != 1) strides[axis + all.rank() - array.shape.rank()] = stride;
    stride *= array.shape[axis];
  }
}

AttentionHeads::Sequence AttentionHeads::sequence_of(std::int64_t b) const {
  if (op.varlen == 0) return {b, T, S, b * T, b * S};
  const auto* const starts = starts_.data<std::int32_t>();
  const std::int64_t length = starts[b + 1] - starts[b];
  return {b, length, length, starts[b], starts[b]};
}

void AttentionHeads::pack(const Sequence& sequence, std::int64_t n, float* keys, float* values) const {
  const std::int64_t length = sequence.S;
  for (std::int64_t s = 0; s < length; s += kPanel)
    pack_panel({key(sequence, n) + s * key_row_, 1, key_row_}, H, std::min(kPanel, length - s), keys + s * H);
  for (std::int64_t v = 0; v < V; v += kPanel)
    pack_panel({value(sequence, n) + v, value_row_, 1}, length, std::min(kPanel, V - v), values + v * length);
}

void AttentionHeads::shape_scores(const Sequence& sequence, std::int64_t n, std::int64_t t, float* row) const {
  cap_row(row, scale, static_cast<float>(op.soft_cap), sequence.S);
  if (!bias_) return;
  const float* const bias = bias_->row<float>(sequence.b, n, t);
  if (bias_->strides[3] == 1) {
    add_to(row, bias, sequence.S);
  } else {
    for (std::int64_t s = 0; s < sequence.S; ++s) row[s] += *bias;
  }
}

void AttentionHeads::write_lse(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows,
                               const float* maxima, const float* sums, float factor, float hidden_maximum) const {
  float* const to = lse(sequence, n, first);
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool sees_nothing = is_masked() && maxima[r] <= hidden_maximum;
    to[r] = sees_nothing ? -std::numeric_limits<float>::infinity() : factor * maxima[r] + std::log(sums[r]);
  }
}

void AttentionHeads::find_seen(const Sequence& sequence, std::int64_t n, std::int64_t t, std::int64_t begin,
                               std::int64_t end, std::uint8_t* seen) const {
  const std::int64_t length = sequence.S;
  std::int64_t first = 0, last = length;
  if (op.causal) last = std::min(last, t + 1);
  if (op.window) {
    first = std::max(first, std::min(length, t - std::min(*op.window, t + 1) + 1));
    last = *op.window > length ? last : std::min(last, t + *op.window);
  }
  first = std::max(first, begin);
  last = std::min(last, end);
  std::fill_n(seen, end - begin, std::uint8_t{0});
  if (first < last) std::fill(seen + (first - begin), seen + (last - begin), std::uint8_t{1});
  for (const BroadcastToScores& mask : masks_) {
    const auto* const row = mask.row<std::uint8_t>(sequence.b, n, t);
    if (mask.strides[3] == 1) {
      and_row(seen, row + begin, end - begin);
    } else if (*row == 0) {
      std::fill_n(seen, end - begin, std::uint8_t{0});
    }
  }
}

bool AttentionHeads::find_seen(const Sequence& sequence, std::int64_t n, std::int64_t first, std::int64_t rows,
                               std::int64_t begin, std::int64_t end, std::uint8_t* seen, std::int64_t stride) const {
  if (op.causal && begin > first + rows - 1) {
    std::fill_n(seen, rows * stride, std::uint8_t{0});
    return false;
  }
  bool any = false;
  for (std::int64_t r = 0; r < rows; ++r, seen += stride) {
    find_seen(sequence, n, first + r, begin, end, seen);
    any = any || std::find(seen, seen + (end - begin), std::uint8_t{1}) != seen + (end - begin);
  }
  return any;
}

bool AttentionHeads::hides_fully(const float* maxima, std::int64_t rows) const {
  // A hidden score has the weight e^(hidden − maximum), which is 0 if the exponent is below −104.
  return std::all_of(maxima, maxima + rows, [&](float most) { return scale * (most - hidden_score) > 104.0F; });
}

Team AttentionHeads::team(Engine& engine) const {
  // Overhead besides the products, in operations per head: packing, and partial tiles.
  constexpr double kWorkOfHead = 4e4;
  const double pairs = static_cast<double>(B * N * T) * static_cast<double>(S);
  return engine.team_for(2.0 * pairs * static_cast<double>(H + V) + static_cast<double>(B * N) * kWorkOfHead);
}

std::int64_t AttentionHeads::pieces(const Team& team, std::int64_t rows) const {
  // A head is one work item. With too few heads for the threads it is several; each of them packs the keys and values
  // again.
  constexpr std::int64_t kPiecesPerThread = 4;
  const std::int64_t heads = std::max<std::int64_t>(B * N, 1);
  const std::int64_t wanted = team.threads == 1 ? 1 : (kPiecesPerThread * team.threads + heads - 1) / heads;
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>((T + rows - 1) / rows, 1));
}

AttentionSize::AttentionSize(const StepInfo& step) {
  const auto& op = step.op<graph::Attention>();
  const bool is_packed = op.packed_heads > 0;
  keys = op.varlen > 0 ? op.varlen : step.inputs[is_packed ? 0 : 1].shape[1];
  head_size = step.inputs[0].shape[3];
  value_size = step.inputs[is_packed ? 0 : 2].shape[3];
}

MemoryNeeds scratch_of_threads(const StepInfo& step, std::int64_t bytes) {
  MemoryNeeds needs;
  needs.scratch = bytes_times({step.machine.threads, bytes});
  return needs;
}

std::int64_t scratch_size(std::initializer_list<std::pair<std::int64_t, std::int64_t>> arrays, std::int64_t bytes) {
  auto sum = static_cast<UInt128>(bytes);
  for (const auto& [rows, columns] : arrays)
    sum += static_cast<UInt128>(rows) * static_cast<UInt128>(columns) * sizeof(float);
  const UInt128 lines = (sum + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<std::int64_t>(std::min(lines, static_cast<UInt128>(kMaxSize)));
}

}  // namespace attn::backends::cpu
