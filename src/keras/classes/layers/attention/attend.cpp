#include "classes/layers/attention/attend.h"

#include "classes/decoding.h"

namespace attn::keras {

using graph::ValueId;

Attended attend(Call& call, ValueId query, ValueId key, ValueId value, const Attending& how) {
  if (call.lowering().decoding != nullptr && (how.causal || how.cached)) {
    graph::CachedAttention op;
    op.scale = how.scale;
    op.path = how.path;
    op.soft_cap = how.soft_cap;
    op.window = how.window;
    op.causal = how.causal;
    op.bias = how.bias.has_value();
    op.masks = static_cast<int>(how.masks.size());
    std::vector<ValueId> further;
    if (how.bias) further.push_back(*how.bias);
    further.insert(further.end(), how.masks.begin(), how.masks.end());
    return {attend_cached(call, query, key, value, op, further), graph::kNone};
  }
  graph::Attention op;
  op.scale = how.scale;
  op.path = how.path;
  op.soft_cap = how.soft_cap;
  op.bias = how.bias.has_value();
  op.masks = static_cast<int>(how.masks.size());
  op.causal = how.causal;
  op.window = how.window;
  op.scores = how.scores;
  std::vector<ValueId> inputs = {query, key, value};
  if (how.bias) inputs.push_back(*how.bias);
  inputs.insert(inputs.end(), how.masks.begin(), how.masks.end());
  const std::vector<ValueId> out = call.builder().apply_all(op, inputs);
  return {out[0], op.scores ? out[1] : graph::kNone};
}

graph::AttentionPath softmax_path(const Call& call) {
  const DType dtype = call.compute_dtype();
  const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  return half ? graph::AttentionPath::fused : graph::AttentionPath::explicit_;
}

}  // namespace attn::keras
