#include "families/blocks/attention_sinks.h"

#include <vector>

#include "classes/decoding.h"
#include "classes/layers/attention/attend.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// x with `before` and `after` elements of `value` added to an axis.
ValueId padded(graph::Builder& b, ValueId x, int axis, Dim before, Dim after, double value = 0.0) {
  const auto rank = static_cast<std::size_t>(b.shape(x).rank());
  graph::Pad pad{graph::PadMode::constant, std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0),
                 value};
  pad.before[static_cast<std::size_t>(axis)] = before;
  pad.after[static_cast<std::size_t>(axis)] = after;
  return b.apply(pad, {x});
}

/// Whether queries at `positions` (1,T) see the keys behind the sink, and the sink itself: (1,1,T,1 + keys).
ValueId visible(graph::Builder& b, ValueId positions, Dim keys, const AttentionOptions& how) {
  const Expression query(b, b.expand_dims(b.expand_dims(positions, 1), -1));  // (1,1,T,1)
  const Expression key(b, b.apply(graph::Iota{{1, 1, 1, 1 + keys}, DType::int32, 3, -1.0}, {}));
  Expression seen = key <= query;
  if (how.window) seen = seen & (abs(query - key) < static_cast<double>(*how.window));
  return seen | (key < 0.0);
}

}  // namespace

Attended attend_with_sinks(Call& call, ValueId query, ValueId key, ValueId value, ValueId sinks, AttentionOptions how) {
  if (call.lowering().symbolic()) return attend(call, query, key, value, how);
  graph::Builder& b = call.builder();
  // The sink is a key of zeros before all others, whose score is a bias, and whose value is zero.
  const Decoding* const decoding = call.lowering().decoding;
  const Dim keys = decoding != nullptr ? decoding->capacity : b.shape(key)[1], heads = b.shape(sinks)[0];
  const ValueId positions =
      decoding != nullptr ? decoding->positions : b.apply(graph::Iota{{1, b.shape(query)[1]}, DType::int32, 1}, {});
  std::vector<ValueId> masks;
  for (const ValueId mask : how.masks)
    masks.push_back(b.shape(mask).back() == keys ? padded(b, mask, b.shape(mask).rank() - 1, 1, 0, 1.0) : mask);
  if (decoding == nullptr || how.window) masks.push_back(visible(b, positions, keys, how));
  const ValueId bias = padded(b, b.reshape(sinks, {1, heads, 1, 1}), 3, 0, keys);  // (1,N,1,1 + keys)
  how.masks = masks;
  how.window.reset();
  if (decoding != nullptr) {
    graph::CachedAttention op;
    op.scale = how.scale;
    op.path = how.path;
    op.bias = true;
    op.masks = static_cast<int>(masks.size());
    masks.insert(masks.begin(), bias);
    const Shape shape = b.shape(key);
    const ValueId zeros = b.apply(graph::Fill{{shape[0], 1, shape[2], shape[3]}, b.dtype(key), 0.0}, {});
    const FrontRows front{1, EncodedKeys{zeros, zeros}};
    return {attend_cached(call, query, key, value, op, masks, front), graph::kNone};
  }
  how.causal = false;
  how.bias = bias;
  Attended attended = attend(call, query, padded(b, key, 1, 1, 0), padded(b, value, 1, 1, 0), how);
  if (attended.scores != graph::kNone)
    attended.scores = b.apply(graph::Slice{{{}, {}, {}, {1, 1 + keys, 1}}}, {attended.scores});
  return attended;
}

}  // namespace attn::keras
