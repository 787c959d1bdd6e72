#include "families/blocks/decoders/gemma_heads.h"

namespace attn::keras {

using graph::ValueId;

GemmaHeads::Projection GemmaHeads::declare_heads(Weights& w, std::string_view called, std::string_view attribute,
                                                 const Shape& shape) {
  Projection projection;
  w.scope(called, attribute, [&] {
    const graph::Initializer drawn = kernel_initializer.with_axes({1}, {0, 2});
    if (const DTypePolicy inner = policy.of(called, attribute); inner.quantization) {
      quantized_parts.emplace_back(inner.path, *inner.quantization);
      projection.integers.declare(w, *inner.quantization, {}, {{"btd", "ndh", "btnh"}, shape, drawn});
    } else {
      projection.kernel = w.add("kernel", shape, drawn);
    }
  });
  return projection;
}

ValueId GemmaHeads::project_heads(Call& call, ValueId x, const Projection& projection) {
  if (projection.integers.is_quantized()) return projection.integers.multiply(call, x);
  graph::Builder& b = call.builder();
  const ValueId kernel = b.transpose(call.weight(projection.kernel), {1, 0, 2});
  return b.apply(graph::Linear{1}, {b.cast(x, call.compute_dtype()), kernel});
}

}  // namespace attn::keras
