#include "families/blocks/images/image_causal_lm.h"

#include <cmath>

#include "classes/decoding.h"
#include "classes/ops/expression.h"

namespace attn::keras {

using graph::ValueId;

Decoded ImageCausalLM::decode(Lowering& lowering, ValueId token_ids, bool every_position) {
  const auto result = [&](const Arg& arg) { return (*arg.as<TensorPtr>())->id; };
  const auto applied = [&](std::string_view called, ValueId in, const ArgDict& how) {
    return result(lowering.apply(*backbone().find(called), ArgList{Call::result(in)}, how));
  };
  const Expression rows(lowering.builder(), applied("token_embedding", token_ids, {}));
  ValueId x = rows * std::sqrt(static_cast<double>(backbone_size("hidden_dim")));
  ArgDict how;
  if (lowering.decoding->media.contains("images")) std::tie(x, how) = with_images(lowering, x);
  for (std::int64_t i = 0; i < backbone_size("num_layers"); ++i)
    x = applied(fmt::format("decoder_block_{}", i), x, how);
  return answered(lowering, applied("final_normalization", x, {}), every_position);
}

}  // namespace attn::keras
