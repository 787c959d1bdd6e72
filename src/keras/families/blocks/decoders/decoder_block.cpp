#include "families/blocks/decoders/decoder_block.h"

#include <array>

#include "classes/layers/attention/padding_mask.h"

namespace attn::keras {

std::span<const std::string_view> DecoderBlock::arguments() const {
  static constexpr std::array<std::string_view, 6> kNames = {"decoder_sequence",
                                                             "decoder_padding_mask",
                                                             "decoder_attention_mask",
                                                             "self_attention_cache",
                                                             "self_attention_cache_update_index",
                                                             "training"};
  return kNames;
}

std::int64_t DecoderBlock::width(Call& call) {
  const Shape in = call.shape(call.layer().arguments().front());
  if (in.rank() != 3 || in.back() == kUnknown)
    throw bad_input("expected an input (batch, length, width), got {}", in.str());
  return in.back();
}

TensorPtr DecoderBlock::sequence(Call& call) {
  for (const std::string_view argument : call.layer().arguments())
    if (argument.find("cache") != std::string_view::npos && call.has(argument))
      throw bad_input("the argument '{}' is not supported: runs keep their caches themselves", argument);
  return call.tensor(call.layer().arguments().front());
}

ArgDict DecoderBlock::attending(Call& call, const TensorPtr& sequence) {
  const bool decodes = call.lowering().decoding != nullptr;
  const auto names = call.layer().arguments();
  const Arg mask = decodes ? Arg() : merged_mask(call, sequence, names[1], names[2]);
  return {{"attention_mask", mask}, {"use_causal_mask", true}};
}

void GatedBlock::fields(Fields& f) {
  f.required("intermediate_dim", intermediate_dim);
  f.required("num_query_heads", num_query_heads);
  f.required("num_key_value_heads", num_key_value_heads);
  family_->fields(f);
  further_fields(f);
  f("activation", activation);
  f("layer_norm_epsilon", layer_norm_epsilon);
  f("kernel_initializer", kernel_initializer);
  f("dropout", dropout);
}

void GatedBlock::make_attention() {
  Json arguments = arguments_of(*family_);
  arguments["num_query_heads"] = num_query_heads.value;
  arguments["num_key_value_heads"] = num_key_value_heads.value;
  arguments["kernel_initializer"] = kernel_initializer.json;
  arguments["dropout"] = dropout.value;
  attention_ = &make(names_.attention_class, names_.attention.called, names_.attention.attribute, std::move(arguments));
}

Layer& GatedBlock::make_norm(const BlockNames::Part& part) {
  return make(names_.norm_class, part.called, part.attribute, {{"epsilon", layer_norm_epsilon.value}});
}

Layer& GatedBlock::make_dense(std::string_view part, std::int64_t units) {
  const std::string called = fmt::format("feedforward_{}_dense", part);
  return make("Dense", called, std::string(names_.prefix) + called,
              {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
}

void GatedBlock::make_feed_forward(std::int64_t hidden_dim) {
  intermediate_dense_ = &make_dense("intermediate", intermediate_dim);
  gate_dense_ = &make_dense("gate", intermediate_dim);
  output_dense_ = &make_dense("output", hidden_dim);
}

void GatedBlock::make_parts(std::int64_t hidden_dim) {
  make_attention();
  make_attention_norm();
  make_feed_forward(hidden_dim);
  make_feed_forward_norm();
}

graph::ValueId activated(Call& call, const Activation& activation, const TensorPtr& x) {
  graph::Builder& b = call.builder();
  const DType compute = call.compute_dtype(), wide = compute == DType::float64 ? DType::float64 : DType::float32;
  return b.cast(activation.apply(b, b.cast(x->id, wide)), compute);
}

TensorPtr GatedBlock::feed_forward(Call& call, const TensorPtr& x) {
  const graph::ValueId gate = activated(call, activation, apply(call, *gate_dense_, {x}));
  const graph::ValueId up = apply(call, *intermediate_dense_, {x})->id;
  return apply(call, *output_dense_, {Call::result(call.builder().binary(graph::BinaryFn::multiply, up, gate))});
}

Arg GatedBlock::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  const TensorPtr in = sequence(call);
  const ArgDict how = attending(call, in);
  const TensorPtr x = sum(call, apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how), in);
  return sum(call, feed_forward(call, apply(call, *feed_forward_norm_, {x})), x);
}

}  // namespace attn::keras
