#include "families/blocks/sound/conformer.h"

#include "classes/ops/expression.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

void ConformerPart::check(const Ref& config) {
  constexpr std::int64_t kMostFeatures = std::int64_t{1} << 30;
  if (hidden_size > kMostFeatures) config["hidden_size"].fail(fmt::format("expected at most {}", kMostFeatures));
}

TensorPtr ConformerPart::clipped(Call& call, const TensorPtr& x) const {
  const Expression value(call.builder(), x->id);
  return Call::result(min(max(value, value.number(-gradient_clipping)), value.number(gradient_clipping)));
}

TensorPtr ConformerPart::silu(Call& call, const TensorPtr& x) {
  return Call::result(call.builder().unary(graph::UnaryFn::silu, x->id));
}

Arg ConformerFeedForward::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  const TensorPtr in = call.tensor("x"), normal = apply(call, *pre_norm_, {clipped(call, in)});
  const TensorPtr wide = silu(call, apply(call, *first_, {normal}));
  const TensorPtr out = apply(call, *post_norm_, {clipped(call, apply(call, *second_, {wide}))});
  return sum(call, in, Call::result(Expression(call.builder(), out->id) * residual_weight.value));
}

Arg ConformerAttention::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  const TensorPtr in = call.tensor("x"), normal = apply(call, *pre_norm_, {clipped(call, in)});
  const TensorPtr attended = apply(call, *attention_, {normal, call.arg("mask")});
  return sum(call, in, apply(call, *post_norm_, {clipped(call, apply(call, *output_, {attended}))}));
}

Arg ConformerConvolution::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  Builder& b = call.builder();
  const TensorPtr in = call.tensor("x");
  const ValueId both = apply(call, *start_, {apply(call, *pre_norm_, {in})})->id;
  const auto half = [&](Dim start) {
    graph::Slice slice;
    slice.ranges = {{}, {}, {start, start + hidden_size, 1}};
    return Expression(b, b.apply(slice, {both}));
  };
  const Expression gated = half(0) * half(hidden_size).unary(graph::UnaryFn::sigmoid);
  graph::Pad pad;
  pad.before = {0, kernel_size - 1, 0};
  pad.after = {0, 0, 0};
  const TensorPtr x = apply(call, *convolution_, {Call::result(b.apply(pad, {gated}))});
  const TensorPtr normal = apply(call, *conv_norm_, {clipped(call, x)});
  return sum(call, apply(call, *end_, {silu(call, normal)}), in);
}

Arg ConformerBlock::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  Builder& b = call.builder();
  TensorPtr x = apply(call, *start_, {call.tensor("x")});
  x = apply(call, *attention_, {x, call.arg("mask")});
  if (!call.lowering().symbolic()) {
    const Expression mask(b, call.tensor("mask")->id);
    const Expression valid = mask_is_of_padding_ ? mask.unary(graph::UnaryFn::logical_not) : mask;
    x = Call::result(Expression(b, x->id) * Expression(b, b.expand_dims(valid.cast(b.dtype(x->id)), 2)));
  }
  x = apply(call, *end_, {apply(call, *convolution_, {x})});
  return apply(call, *norm_, {clipped(call, x)});
}

}  // namespace attn::keras
