#include "classes/layers/attention/attend.h"

#include <vector>

#include "classes/decoding.h"

namespace attn::keras {

using graph::ValueId;

namespace {

/// Returns the bias, if there is one, and the masks.
std::vector<ValueId> further_inputs(const AttentionOptions& how) {
  std::vector<ValueId> further;
  if (how.bias) further.push_back(*how.bias);
  further.insert(further.end(), how.masks.begin(), how.masks.end());
  return further;
}

Attended attend_all(Call& call, ValueId query, const KeptKeys& keys, const AttentionOptions& how) {
  graph::Attention op;
  op.scale = how.scale;
  op.path = how.path;
  op.soft_cap = how.soft_cap;
  op.bias = how.bias.has_value();
  op.masks = static_cast<int>(how.masks.size());
  op.causal = how.causal;
  op.window = how.window;
  op.scores = how.scores;
  std::vector<ValueId> inputs = {query, keys.key, keys.value};
  const std::vector<ValueId> further = further_inputs(how);
  inputs.insert(inputs.end(), further.begin(), further.end());
  const std::vector<ValueId> out = call.builder().apply_all(op, inputs);
  return {out[0], op.scores ? out[1] : graph::kNone};
}

}  // namespace

Attended attend(Call& call, ValueId query, ValueId key, ValueId value, const AttentionOptions& how) {
  if (call.lowering().decoding != nullptr && (how.causal || how.cached))
    return attend_to(call, query, keep(call, key, value), how);
  return attend_all(call, query, {key, value}, how);
}

KeptKeys keep(Call& call, ValueId key, ValueId value) {
  if (call.lowering().decoding == nullptr) return {key, value};
  const CachedKeys cached = append_keys(call, key, value);
  return {cached.keys, cached.values};
}

Attended attend_to(Call& call, ValueId query, const KeptKeys& kept, const AttentionOptions& how) {
  if (call.lowering().decoding == nullptr) return attend_all(call, query, kept, how);
  graph::CachedAttention op;
  op.scale = how.scale;
  op.path = how.path;
  op.soft_cap = how.soft_cap;
  op.window = how.window;
  op.causal = how.causal;
  op.bias = how.bias.has_value();
  op.masks = static_cast<int>(how.masks.size());
  return {attend_to_cache(call, query, {kept.key, kept.value}, op, further_inputs(how)), graph::kNone};
}

graph::AttentionPath softmax_path(const Call& call) {
  const DType dtype = call.compute_dtype();
  const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  return half ? graph::AttentionPath::fused : graph::AttentionPath::explicit_;
}

}  // namespace attn::keras
