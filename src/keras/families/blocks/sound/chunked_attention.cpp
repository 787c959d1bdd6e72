#include "families/blocks/sound/chunked_attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "classes/layers/preprocessing/table.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Appends elements to axis 1 of x, which are zero or false.
ValueId padded(Builder& b, ValueId x, Dim before, Dim after) {
  graph::Pad pad;
  pad.before.assign(static_cast<std::size_t>(b.shape(x).rank()), 0);
  pad.after = pad.before;
  pad.before[1] = before;
  pad.after[1] = after;
  return before + after > 0 ? b.apply(pad, {x}) : x;
}

Dim divided_up(Dim positions, Dim width) { return (positions + width - 1) / width; }

}  // namespace

ValueId Chunks::divided(Builder& b, ValueId x) const {
  const Shape in = b.shape(x);
  const Dim count = divided_up(in[1], width);
  Shape shape{in[0], count, width};
  shape.append(in.slice(2, in.rank()));
  return b.reshape(padded(b, x, 0, count * width - in[1]), shape);
}

ValueId Chunks::around(Builder& b, ValueId x) const {
  const Dim count = divided_up(b.shape(x)[1], width);
  const Expression chunk(b, b.apply(graph::Iota{{count, 1}, DType::int32, 0, 0.0, static_cast<double>(width)}, {}));
  const Expression place(b, b.apply(graph::Iota{{1, seen()}, DType::int32, 1}, {}));
  return b.apply(graph::Gather{1}, {padded(b, x, past, future + width - 1), chunk + place});
}

Expression Chunks::visible(Builder& b, ValueId valid, Dim first, Dim last) const {
  const ValueId own = around(b, b.cast(valid, DType::int32));
  const Shape shape = b.shape(own);
  const Expression sound(b, b.cast(b.reshape(own, {shape[0], 1, shape[1], 1, shape[2]}), DType::boolean));
  const Expression row(b, b.apply(graph::Iota{{1, 1, 1, width, 1}, DType::int32, 3}, {}));
  const Expression place(b, b.apply(graph::Iota{{1, 1, 1, 1, seen()}, DType::int32, 4}, {}));
  return sound & (row + static_cast<double>(first) <= place) & (place <= row + static_cast<double>(last));
}

ValueId Chunks::context(Builder& b, ValueId shares, ValueId values, Dim positions) const {
  const ValueId chunks = b.apply(graph::Einsum{"bnuwc,bucnh->buwnh"}, {shares, values});
  const Shape shape = b.shape(chunks);
  graph::Slice slice;
  slice.ranges = {{}, {0, positions, 1}, {}};
  return b.apply(slice, {b.reshape(chunks, {shape[0], shape[1] * shape[2], shape[3] * shape[4]})});
}

ValueId Chunks::sinusoids(Builder& b, Dim features) const {
  const Dim half = features / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<Dim>(half - 1, 1));
  Tensor out = table(DType::float32, {distances(), features}, "the angles of distances");
  for (Dim i = 0; i < distances(); ++i) {
    const auto distance = static_cast<float>(past - i);
    for (Dim k = 0; k < half; ++k) {
      const float angle = distance * static_cast<float>(std::exp(static_cast<double>(k) * -step));
      out.set(i * features + k, std::sin(angle));
      out.set(i * features + half + k, std::cos(angle));
    }
  }
  return b.constant(std::move(out));
}

ValueId relative_logits(Builder& b, ValueId queries, ValueId keys, ValueId distances) {
  const Shape shape = b.shape(queries);
  const Dim chunks = shape[1], width = shape[2], heads = shape[3], seen = b.shape(keys)[2],
            count = b.shape(distances)[0];
  const Expression contents(b, b.apply(graph::Einsum{"buwnh,bucnh->bnuwc"}, {queries, keys}));
  const ValueId places = b.reshape(distances, {count, heads, shape[4]});
  const ValueId raw = b.apply(graph::Einsum{"buwnh,fnh->bnuwf"}, {queries, places});
  // Each row of a chunk is one distance further than the row before it.
  graph::Pad pad;
  pad.before.assign(5, 0);
  pad.after = {0, 0, 0, 0, seen + 1 - count};
  const ValueId wide = b.reshape(b.apply(pad, {raw}), {shape[0], heads, chunks, width * (seen + 1)});
  graph::Slice slice;
  slice.ranges = {{}, {}, {}, {0, width * seen, 1}};
  return contents + Expression(b, b.reshape(b.apply(slice, {wide}), {shape[0], heads, chunks, width, seen}));
}

void check_chunks(const Ref& config, const ChunkKeys& keys, Dim features, Dim heads, Dim chunk, Dim left, Dim right) {
  constexpr Dim kMostPositions = 1 << 16;
  if (features % heads != 0)
    config[keys.heads].fail(fmt::format("{} features cannot be divided among {} heads", features, heads));
  if (features % 2 != 0)
    config["hidden_size"].fail(fmt::format("expected an even number for sinusoids, got {}", features));
  for (const auto& [key, value] : {std::pair(keys.left, left), std::pair(keys.right, right)})
    if (value < 0 || value > kMostPositions)
      config[key].fail(fmt::format("expected an integer from 0 to {}", kMostPositions));
  if (chunk > kMostPositions) config[keys.chunk].fail(fmt::format("expected at most {}", kMostPositions));
}

}  // namespace attn::keras
