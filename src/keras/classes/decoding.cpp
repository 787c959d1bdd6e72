#include "classes/decoding.h"

#include "classes/layer.h"

namespace attn::keras {

using graph::ValueId;

ValueId Decoding::state(Call& call, std::string_view what, const Shape& shape, DType dtype) {
  std::string name = call.lowering().scope();
  if (!name.ends_with(call.layer().name + "/")) name += call.layer().name + "/";  // a composite layer is in its scope
  name += what;
  const int earlier = calls_[name]++;
  if (earlier > 0) name += fmt::format("[{}]", earlier);
  return call.builder().state(std::move(name), dtype, shape);
}

TensorPtr Decoding::media_input(graph::Builder& b, const std::string& name, DType dtype) const {
  return Call::result(b.input(name, dtype, media.at(name)));
}

namespace {

/// The entries (B,count) of a cache in which the rows of `front` were written.
ValueId front_sources(Call& call, Dim rows, Dim count) {
  const Decoding& decoding = *call.lowering().decoding;
  const Dim written = decoding.encoder ? decoding.encoder->entries : rows;
  const Dim step = decoding.entries / written;
  graph::Builder& b = call.builder();
  const graph::Iota sources{{written, rows / written, count}, DType::int32, 0, 0.0, static_cast<double>(step)};
  return b.reshape(b.apply(sources, {}), {rows, count});
}

/// Returns a number of positions, plus those of the rows in front of them.
ValueId behind_front(graph::Builder& b, ValueId count, Dim front) {
  return front == 0 ? count : b.binary(graph::BinaryFn::add, count, b.scalar_like(count, static_cast<double>(front)));
}

}  // namespace

CachedKeys append_keys(Call& call, ValueId key, ValueId value, const FrontRows& front) {
  Decoding& decoding = *call.lowering().decoding;
  graph::Builder& b = call.builder();
  const auto appended = [&](std::string_view what, ValueId x, ValueId before) {
    const Shape shape = b.shape(x);
    const Dim capacity = front.count + decoding.capacity;
    const DType dtype = decoding.cache_dtype.value_or(b.dtype(x));
    ValueId cache = decoding.state(call, what, {decoding.entries, shape[2], capacity, shape[3]}, dtype);
    if (before != graph::kNone)
      cache = b.apply(graph::Append{}, {cache, before, b.scalar_like(decoding.position, 0.0)});
    return b.apply(graph::Append{}, {cache, x, behind_front(b, decoding.position, front.count)});
  };
  const EncodedKeys written = front.written.value_or(EncodedKeys{});
  const ValueId keys = appended("keys", key, written.key);
  return {keys, appended("values", value, written.value)};
}

ValueId attend_to_cache(Call& call, ValueId query, const CachedKeys& cached, graph::CachedAttention op,
                        const std::vector<ValueId>& further, Dim front) {
  const Decoding& decoding = *call.lowering().decoding;
  graph::Builder& b = call.builder();
  std::vector<ValueId> inputs = {query, cached.keys, cached.values, behind_front(b, decoding.length, front)};
  op.sources = decoding.sources.has_value();
  if (op.sources && front == 0) inputs.push_back(*decoding.sources);
  if (op.sources && front > 0) {
    const ValueId before = front_sources(call, b.shape(query)[0], front);
    inputs.push_back(b.apply(graph::Concat{1}, {before, *decoding.sources}));
  }
  inputs.insert(inputs.end(), further.begin(), further.end());
  return b.apply(op, inputs);
}

ValueId attend_cached(Call& call, ValueId query, ValueId key, ValueId value, graph::CachedAttention op,
                      const std::vector<ValueId>& further, const FrontRows& front) {
  return attend_to_cache(call, query, append_keys(call, key, value, front), op, further, front.count);
}

ValueId attend_encoded(Call& call, ValueId query, const std::optional<EncodedKeys>& read, Dim heads, Dim size,
                       const AttentionOptions& how) {
  Decoding& decoding = *call.lowering().decoding;
  const EncoderSequences& encoder = *decoding.encoder;
  graph::Builder& b = call.builder();
  const auto number = [&](Dim value) {
    Tensor out(DType::int32, Shape{});
    out.set(0, static_cast<double>(value));
    return b.constant(std::move(out));
  };
  const auto kept = [&](std::string_view what, ValueId x) {
    const DType dtype = decoding.cache_dtype.value_or(call.compute_dtype());
    const ValueId cache = decoding.state(call, what, {encoder.entries, heads, encoder.length, size}, dtype);
    return x == graph::kNone ? cache : b.apply(graph::Append{}, {cache, x, number(0)});
  };
  graph::CachedAttention op;
  op.scale = how.scale;
  op.path = how.path;
  op.soft_cap = how.soft_cap;
  op.masks = static_cast<int>(how.masks.size());
  op.causal = false;
  const EncodedKeys given = read.value_or(EncodedKeys{});
  std::vector<ValueId> inputs = {query, kept("keys", given.key), kept("values", given.value), number(encoder.length)};
  const Dim rows = b.shape(query)[0];
  if (rows != encoder.entries) {  // branches of one sequence share its cache
    op.sources = true;
    const Shape sources{encoder.entries, rows / encoder.entries, encoder.length};
    inputs.push_back(b.reshape(b.apply(graph::Iota{sources, DType::int32, 0}, {}), {rows, encoder.length}));
  }
  inputs.insert(inputs.end(), how.masks.begin(), how.masks.end());
  return b.apply(op, inputs);
}

}  // namespace attn::keras
