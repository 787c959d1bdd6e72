#include "classes/layers/attention/head_attention.h"

#include <array>
#include <cmath>

#include "classes/ops/expression.h"
#include "classes/training.h"

namespace attn::keras {

using graph::ValueId;

std::span<const std::string_view> HeadAttention::arguments() const {
  static constexpr std::array<std::string_view, 10> kNames = {"query",
                                                              "value",
                                                              "key",
                                                              "query_mask",
                                                              "value_mask",
                                                              "key_mask",
                                                              "attention_mask",
                                                              "return_attention_scores",
                                                              "training",
                                                              "use_causal_mask"};
  return kNames;
}

void HeadAttention::common_fields(Fields& f, Version seed_since) {
  f("kernel_initializer", kernel_initializer);
  f("bias_initializer", bias_initializer);
  f("kernel_regularizer", kernel_regularizer);
  f("bias_regularizer", bias_regularizer);
  f("activity_regularizer", activity);
  f("kernel_constraint", kernel_constraint);
  f("bias_constraint", bias_constraint);
  f("seed", seed, seed_since);
  f.ignored({"flash_attention"});
  f.foreign({"query_shape", "key_shape", "value_shape", "softmax_robust_masking"});
}

void HeadAttention::check(const Ref& config) {
  if (dropout < 0.0 || dropout > 1.0)
    config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  if (sliding_window && *sliding_window < 1) config["sliding_window"].fail("expected an integer > 0 or null");
}

HeadAttention::Projection HeadAttention::declare(Weights& w, std::string_view sublayer, std::string_view attribute,
                                                 const Shape& in, const Shape& out, bool biased, int rows,
                                                 bool by_einsum) {
  w.set_trainable(true);
  Projection projection;
  Shape kernel = in;
  kernel.append(out);
  std::vector<int> in_axes, out_axes;
  for (int axis = 0; axis < kernel.rank(); ++axis) (axis < in.rank() ? in_axes : out_axes).push_back(axis);
  const DTypePolicy inner = policy.of(sublayer, attribute);
  w.scope(sublayer, attribute, [&] {
    if (inner.quantization) {
      quantized_parts.emplace_back(inner.path, *inner.quantization);
      const std::string letters = "abcdefghijklmnopqrstuvwxyz";
      const std::string free = letters.substr(0, static_cast<std::size_t>(rows));
      const std::string of_in = letters.substr(free.size(), static_cast<std::size_t>(in.rank()));
      const std::string of_out = letters.substr(free.size() + of_in.size(), static_cast<std::size_t>(out.rank()));
      DenseKernel::Floats floats{
          {free + of_in, of_in + of_out, free + of_out}, kernel, kernel_initializer.with_axes(in_axes, out_axes)};
      if (biased) floats.bias = out;
      floats.bias_initializer = bias_initializer.value;
      floats.by_einsum = by_einsum;
      projection.integers.declare(w, *inner.quantization, {}, std::move(floats));
      return;
    }
    projection.kernel = w.add("kernel", kernel, kernel_initializer.with_axes(in_axes, out_axes));
    if (biased) projection.bias = w.add("bias", out, bias_initializer);
  });
  return projection;
}

ValueId HeadAttention::project(Call& call, ValueId x, const Projection& projection, int contracted) const {
  if (projection.integers.is_quantized()) return projection.integers.multiply(call, x);
  // The input may be integers, which are not yet cast.
  std::vector<ValueId> inputs = {call.builder().cast(x, call.compute_dtype()), call.weight(projection.kernel)};
  if (projection.bias) inputs.push_back(call.weight(*projection.bias));
  return call.builder().apply(graph::Linear{contracted, projection.bias.has_value(), {}, false}, inputs);
}

graph::AttentionPath HeadAttention::path(Call& call, int projected_rank) const {
  // Keras 2 has only one computation. For a row without visible keys it averages the values, as the fused path does.
  if (follows_keras2()) return graph::AttentionPath::fused;
  const bool fused = dropout == 0.0 && !call.flag("return_attention_scores") && projected_rank == 4;
  return fused ? graph::AttentionPath::fused : graph::AttentionPath::explicit_;
}

ValueId HeadAttention::expanded(graph::Builder& b, ValueId mask, int position, int rank) {
  mask = b.cast(mask, DType::boolean);
  while (b.shape(mask).rank() < rank) mask = b.expand_dims(mask, position);
  return mask;
}

std::vector<ValueId> HeadAttention::masks(Call& call, const std::optional<ValueId>& query_mask) {
  graph::Builder& b = call.builder();
  std::vector<ValueId> out;
  if (query_mask)
    out.push_back(expanded(b, b.expand_dims(b.cast(*query_mask, DType::boolean), -1), -3, 4));  // (B,1,T,1)
  for (const char* argument : {"value_mask", "key_mask"})
    if (const TensorPtr mask = call.optional_tensor(argument))
      out.push_back(expanded(b, b.expand_dims(b.cast(mask->id, DType::boolean), -2), -3, 4));  // (B,1,1,S)
  if (const TensorPtr mask = call.optional_tensor("attention_mask")) {
    if (call.shape(mask).rank() < 2 || call.shape(mask).rank() > 4)
      throw bad_input("attention_mask must have rank 2, 3 or 4, got {}", call.shape(mask).str());
    out.push_back(expanded(b, mask->id, -3, 4));
  }
  return out;
}

std::optional<ValueId> HeadAttention::combined(graph::Builder& b, std::vector<ValueId> masks,
                                               const Causality& causality, Dim targets, Dim sources, int rank) {
  if (causality.causal || causality.window) {
    Shape square(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
    square[rank - 2] = targets;
    square[rank - 1] = sources;
    const Expression target{b, b.apply(graph::Iota{square, DType::int64, rank - 2}, {})};
    const Expression source{b, b.apply(graph::Iota{square, DType::int64, rank - 1}, {})};
    if (causality.causal) masks.push_back(source <= target);
    if (causality.window) masks.push_back(abs(target - source) < static_cast<double>(*causality.window));
  }
  std::optional<ValueId> all;
  for (const ValueId mask : masks) all = all ? b.binary(graph::BinaryFn::logical_and, *all, mask) : mask;
  return all;
}

bool HeadAttention::masks_scores(Call& call) const {
  const bool follows_masks = !call.lowering().symbolic() || call.lowering().watches_masks();
  return call.flag("return_attention_scores") && !follows_keras2() && follows_masks;
}

ValueId HeadAttention::context_of_dropped(Call& call, ValueId scores, ValueId v) const {
  graph::Builder& b = call.builder();
  const Shape shape = b.shape(scores), values = b.shape(v);  // (B,N,T,S), (B,S,K,H)
  const ValueId kept = dropped(call, scores, dropout, seed.json, shape);
  const Dim groups = values[2], each = shape[1] / groups;
  const ValueId grouped = b.reshape(kept, {shape[0], groups, each, shape[2], shape[3]});
  const ValueId context = b.apply(graph::Einsum{"bkgts,bskh->btkgh"}, {grouped, v});
  return b.reshape(context, {shape[0], shape[2], shape[1], values[3]});
}

HeadAttention::MaskedAttended HeadAttention::attend(Call& call, ValueId q, ValueId k, ValueId v,
                                                    const std::vector<ValueId>& masks, std::int64_t head_size,
                                                    graph::AttentionPath path, const Causality& causality) const {
  AttentionOptions how;
  how.scale = 1.0 / std::sqrt(static_cast<double>(head_size));
  how.path = path;
  how.causal = causality.causal;
  how.window = causality.window;
  // A decode step needs no padding masks, because no token is padding.
  if (call.lowering().decoding == nullptr || !causality.causal) how.masks = masks;
  const bool drops = keras::drops(call, dropout);
  how.scores = call.flag("return_attention_scores") || call.lowering().want_scores || drops;
  MaskedAttended attended{keras::attend(call, q, k, v, how), {}};
  if (drops) attended.context = context_of_dropped(call, attended.scores, v);
  if (attended.scores != graph::kNone && masks_scores(call)) {
    graph::Builder& b = call.builder();
    attended.scores_mask = combined(b, masks, causality, b.shape(q)[1], b.shape(k)[1], 4);
  }
  return attended;
}

Arg HeadAttention::results(Call& call, ValueId output, const MaskedAttended& attended,
                           const std::optional<ValueId>& query_mask) {
  const TensorPtr out = Call::result(output);
  out->mask = query_mask;
  if (call.lowering().want_scores && attended.scores != graph::kNone) call.lowering().add_scores(attended.scores);
  if (!call.flag("return_attention_scores")) return out;
  const TensorPtr scores = Call::result(attended.scores);
  scores->mask = attended.scores_mask;
  return ArgList{out, scores};
}

}  // namespace attn::keras
