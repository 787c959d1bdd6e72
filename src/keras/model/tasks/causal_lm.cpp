#include "model/tasks/causal_lm.h"

#include "attn/graph/graph.h"
#include "classes/call.h"

namespace attn::keras {

using graph::ValueId;

Decoded CausalLM::decode(Lowering& lowering, ValueId token_ids, bool every_position) {
  graph::Builder& b = lowering.builder();
  const Shape shape = b.shape(token_ids);
  const ValueId all = b.apply(graph::Fill{shape, DType::int32, 1.0}, {});
  const ArgDict inputs = {{"token_ids", Call::result(token_ids)}, {"padding_mask", Call::result(all)}};
  return answered(lowering, (*lowering.apply(backbone(), ArgList{inputs}, ArgDict{}).as<TensorPtr>())->id,
                  every_position);
}

Decoded CausalLM::answered(Lowering& lowering, ValueId hidden, bool every_position) {
  const ValueId asked = every_position ? hidden : last_position(lowering.builder(), hidden);
  const Arg logits = lowering.apply(token_embedding(), ArgList{Call::result(asked)}, ArgDict{{"reverse", true}});
  return {(*logits.as<TensorPtr>())->id, hidden};
}

std::string CausalLM::keras_hub_error() {
  if (fault_ == DecodeFault::query_at_zero) return "uses position 0 for the query of each new token";
  if (fault_ == DecodeFault::short_factors && !backbone_lacks("rope_scaling_type"))
    return "uses the short rotary factors for new tokens, and the long ones for the prompt before them";
  return "";
}

}  // namespace attn::keras
