#include "families/blocks/rms_norm.h"

namespace attn::keras {

using graph::ValueId;

ValueId rms_normalized(graph::Builder& b, ValueId x, ValueId scale, double epsilon, DType out) {
  const DType computed = b.dtype(x) == DType::float64 ? DType::float64 : DType::float32;
  const int last = b.shape(x).rank() - 1;
  const ValueId normal = b.apply(graph::LayerNorm{graph::NormKind::rms, {last}, epsilon, true, false},
                                 {b.cast(x, computed), b.cast(scale, computed)});
  return b.cast(normal, out);
}

}  // namespace attn::keras
