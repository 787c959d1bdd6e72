#include "families/blocks/decoders/gemma4_block.h"

#include <utility>

#include "families/blocks/decoders/gemma_blocks.h"

namespace attn::keras {

Layer& Gemma4Block::make_norm(const char* called) {
  return make("Gemma4RMSNormalization", called, called, {{"epsilon", layer_norm_epsilon.value}});
}

void Gemma4Block::make_parts(Call& call, std::int64_t inner) {
  const auto make_dropout = [&](const char* attribute) -> Layer* {
    if (!(dropout > 0.0)) return nullptr;
    return &make("Dropout", call.lowering().automatic_name("Dropout"), attribute, {{"rate", dropout.value}});
  };
  pre_attention_norm_ = &make_norm("pre_attention_norm");
  post_attention_norm_ = &make_norm("post_attention_norm");
  attention_ = &make_attention();
  attention_dropout_ = make_dropout("attention_dropout");
  feedforward_dropout_ = make_dropout("feedforward_dropout");
  pre_ffw_norm_ = &make_norm("pre_ffw_norm");
  post_ffw_norm_ = &make_norm("post_ffw_norm");
  gating_ffw_ = &make_dense("ffw_gating", "gating_ffw", "btd,df->btf", inner);
  gating_ffw_2_ = &make_dense("ffw_gating_2", "gating_ffw_2", "btd,df->btf", inner);
  ffw_linear_ = &make_dense("ffw_linear", "ffw_linear", "btf,fd->btd", hidden_dim);
}

TensorPtr Gemma4Block::limited(Call& call) {
  const TensorPtr in = sequence(call);
  return call.compute_dtype() == DType::float16 ? clamped(call, in) : in;
}

TensorPtr Gemma4Block::summed(Call& call, const TensorPtr& in, const Arg& attended) const {
  const auto added = [&](const TensorPtr& x, Layer* dropped, TensorPtr y) {
    if (dropped != nullptr) y = apply(call, *dropped, {y});
    return call.compute_dtype() == DType::float16 ? clamped_sum(call, x, y) : sum(call, x, y);
  };
  const TensorPtr x = added(in, attention_dropout_, apply(call, *post_attention_norm_, {attended}));
  return added(x, feedforward_dropout_, apply(call, *post_ffw_norm_, {feed_forward(call, x)}));
}

TensorPtr Gemma4Block::feed_forward(Call& call, const TensorPtr& x) const {
  graph::Builder& b = call.builder();
  const TensorPtr normal = apply(call, *pre_ffw_norm_, {x});
  const graph::ValueId gate = b.unary(graph::UnaryFn::gelu_tanh, apply(call, *gating_ffw_, {normal})->id);
  const graph::ValueId wide = b.binary(graph::BinaryFn::multiply, gate, apply(call, *gating_ffw_2_, {normal})->id);
  return apply(call, *ffw_linear_, {Call::result(wide)});
}

}  // namespace attn::keras
