#include "classes/layers/attention/padding_mask.h"

#include "attn/base/error.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

Arg merged_mask(Call& call, const TensorPtr& inputs, std::string_view padding_mask, std::string_view attention_mask) {
  Builder& b = call.builder();
  std::optional<ValueId> mask = inputs->mask;
  if (const TensorPtr padding = call.optional_tensor(padding_mask)) mask = padding->id;
  if (mask) {
    if (b.shape(*mask).rank() != 2)
      throw bad_input("{} must be (batch, length), got {}", padding_mask, b.shape(*mask).str());
    mask = b.cast(b.expand_dims(*mask, 1), DType::int32);
  }
  if (const TensorPtr attention = call.optional_tensor(attention_mask)) {
    if (call.shape(attention).rank() != 3)
      throw bad_input("{} must be (batch, length, length), got {}", attention_mask, call.shape(attention).str());
    const ValueId whole = b.cast(attention->id, DType::int32);
    mask = mask ? b.binary(graph::BinaryFn::minimum, *mask, whole) : whole;
  }
  return mask ? Arg(Call::result(*mask)) : Arg();
}

}  // namespace attn::keras
