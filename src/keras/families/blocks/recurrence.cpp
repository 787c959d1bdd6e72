#include "families/blocks/recurrence.h"

#include <vector>

#include "classes/carried_state.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

namespace {

/// Returns the tokens from `start` to `stop` of x (B,T,…).
ValueId tokens_of(Builder& b, ValueId x, Dim start, Dim stop) {
  const Shape shape = b.shape(x);
  if (start == 0 && stop == shape[1]) return x;
  graph::Slice some;
  some.ranges.resize(static_cast<std::size_t>(shape.rank()));
  some.ranges[1] = {start, stop, 1};
  return b.apply(some, {x});
}

}  // namespace

ValueId behind_earlier(Call& call, ValueId x, Dim count) {
  Builder& b = call.builder();
  if (count == 0) return x;
  if (call.lowering().decoding == nullptr) {
    graph::Pad pad;
    pad.before = {0, count, 0};
    pad.after = {0, 0, 0};
    return b.apply(pad, {x});
  }
  const Shape shape = b.shape(x);
  CarriedState earlier(call, "tokens", shape[0], {count, shape[2]}, b.dtype(x));
  const ValueId all = b.apply(graph::Concat{1}, {earlier.before(), x});
  std::vector<ValueId> after;
  for (const Dim end : earlier.kept_counts()) after.push_back(tokens_of(b, all, end, end + count));
  earlier.keep(after);
  return all;
}

ValueId delta_rule(Call& call, const std::array<ValueId, 6>& vectors) {
  Builder& b = call.builder();
  const Shape value = b.shape(vectors[3]);
  const DType dtype = b.dtype(vectors[3]);
  const Shape state{value[2], value[3], b.shape(vectors[0]).back()};
  const auto advanced = [&](ValueId before, Dim start, Dim stop) {
    std::vector<ValueId> inputs;
    for (const ValueId vector : vectors) inputs.push_back(tokens_of(b, vector, start, stop));
    inputs.push_back(before);
    return b.apply_all(graph::DeltaRule{}, inputs);
  };
  if (call.lowering().decoding == nullptr) {
    Shape whole{value[0]};
    whole.append(state);
    return advanced(b.apply(graph::Fill{whole, dtype, 0.0}, {}), 0, value[1])[0];
  }
  CarriedState carried(call, "state", value[0], state, dtype);
  std::vector<ValueId> outputs, after;
  Dim start = 0;
  for (const Dim end : carried.kept_counts()) {
    const std::vector<ValueId> out = advanced(after.empty() ? carried.before() : after.back(), start, end);
    outputs.push_back(out[0]);
    after.push_back(out[1]);
    start = end;
  }
  carried.keep(after);
  return outputs.size() == 1 ? outputs[0] : b.apply(graph::Concat{1}, outputs);
}

}  // namespace attn::keras
