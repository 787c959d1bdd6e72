#include "classes/decoding.h"

#include "classes/layer.h"

namespace attn::keras {

using graph::ValueId;

ValueId Decoding::state(Call& call, std::string_view what, Dim heads, Dim size, DType dtype) {
  std::string name = fmt::format("{}{}/{}", call.lowering().scope(), call.layer().name, what);
  const int earlier = calls_[name]++;
  if (earlier > 0) name += fmt::format("[{}]", earlier);
  return call.builder().state(std::move(name), cache_dtype.value_or(dtype), {entries, heads, capacity, size});
}

ValueId attend_cached(Call& call, ValueId query, ValueId key, ValueId value, graph::CachedAttention op,
                      const std::vector<ValueId>& further) {
  Decoding& decoding = *call.lowering().decoding;
  graph::Builder& b = call.builder();
  const auto appended = [&](std::string_view what, ValueId x) {
    const Shape shape = b.shape(x);
    const ValueId cache = decoding.state(call, what, shape[2], shape[3], b.dtype(x));
    return b.apply(graph::Append{}, {cache, x, decoding.position});
  };
  std::vector<ValueId> inputs = {query, appended("keys", key), appended("values", value), decoding.length};
  op.sources = decoding.sources.has_value();
  op.causal = true;
  if (op.sources) inputs.push_back(*decoding.sources);
  inputs.insert(inputs.end(), further.begin(), further.end());
  return b.apply(op, inputs);
}

}  // namespace attn::keras
