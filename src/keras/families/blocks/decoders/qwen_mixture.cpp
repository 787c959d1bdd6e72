#include "families/blocks/decoders/qwen_mixture.h"

#include <algorithm>

namespace attn::keras {

void QwenMlp::fields(Fields& f) {
  f.required("intermediate_dim", intermediate_dim);
  f.required("hidden_dim", hidden_dim);
  f("activation_fn", activation);
  f("layer_norm_epsilon", layer_norm_epsilon);
  f("kernel_initializer", kernel_initializer);
}

std::span<const std::string_view> QwenMlp::arguments() const {
  static constexpr std::array<std::string_view, 1> kNames = {"x"};
  return kNames;
}

void QwenMlp::build(Weights&, Call&) {
  const auto dense = [&](std::string_view part, std::int64_t units) -> Layer& {
    const std::string called = fmt::format("feedforward_{}_dense", part);
    return make("Dense", called, "_" + called,
                {{"units", units}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
  };
  intermediate_dense_ = &dense("intermediate", intermediate_dim);
  gate_dense_ = &dense("gate", intermediate_dim);
  output_dense_ = &dense("output", hidden_dim);
}

Arg QwenMlp::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  const TensorPtr x = call.tensor("x");
  const graph::ValueId gate = activated(call, activation, apply(call, *gate_dense_, {x}));
  const graph::ValueId up = apply(call, *intermediate_dense_, {x})->id;
  return apply(call, *output_dense_, {Call::result(call.builder().binary(graph::BinaryFn::multiply, up, gate))});
}

void QwenExperts::fields(Fields& f) {
  ExpertBank::fields(f);
  f("activation_fn", activation);
  f("kernel_initializer", kernel_initializer);
}

void QwenExperts::build(Weights& w, Call&) {
  w.add("expert_feedforward_gate_dense", {num_experts, hidden_dim, 2 * intermediate_dim}, kernel_initializer);
  w.add("expert_feedforward_output_dense", {num_experts, intermediate_dim, hidden_dim}, kernel_initializer);
}

Arg QwenExperts::call(Call& call) {
  graph::Builder& b = call.builder();
  const Expression both = times(call, rows(call), 0);  // (E,R,2·M)
  const auto half = [&](std::int64_t from) {
    graph::Slice slice{{{}, {}, {from, from + intermediate_dim, 1}}};
    return Expression(b, b.apply(slice, {both}));
  };
  const Expression gate(b, activation.apply(b, half(0)));
  return Call::result(times(call, half(intermediate_dim) * gate, 1));
}

void QwenSparseMoeBlock::fields(Fields& f) {
  f.required("hidden_dim", hidden_dim);
  f.required("moe_intermediate_dim", intermediate_dim);
  further_fields(f);
  f.required("num_experts", num_experts);
  f.required("top_k", top_k);
  f.required("norm_top_k_prob", norm_top_k_prob);
  f("kernel_initializer", kernel_initializer);
  f("layer_norm_epsilon", layer_norm_epsilon);
  f("router_aux_loss_coefficient", router_aux_loss_coefficient);
}

void QwenSparseMoeBlock::build(Weights&, Call&) {
  make_router();
  make_experts(names_.experts, "expert_bank");
}

SparseMoeBlock::Routing QwenSparseMoeBlock::route(Call& call, const TensorPtr& rows) {
  const TensorPtr logits = apply(call, *router_, {rows});
  return {expert_weights(Expression(call.builder(), logits->id), top_k, norm_top_k_prob), logits};
}

bool QwenMixtureFields::is_sparse(std::int64_t index) const {
  return std::ranges::find(mlp_only_layers, index) == mlp_only_layers.end() && (index + 1) % decoder_sparse_step == 0;
}

void QwenMixtureBlock::build(Weights& w, Call& call) {
  called_ = call.lowering().automatic_name(is_sparse() ? parts_.block : parts_.mlp);
  GatedBlock::build(w, call);
}

void QwenMixtureBlock::make_feed_forward(std::int64_t hidden_dim) {
  if (!is_sparse()) {
    mlp_ =
        &make(parts_.mlp, called_, "mlp", {{"intermediate_dim", intermediate_dim.value}, {"hidden_dim", hidden_dim}});
    return;
  }
  Json arguments = {{"hidden_dim", hidden_dim},
                    {"moe_intermediate_dim", mixture_.moe_intermediate_dim.value},
                    {"num_experts", mixture_.num_experts.value},
                    {"top_k", mixture_.top_k.value},
                    {"norm_top_k_prob", mixture_.norm_top_k_prob},
                    {"router_aux_loss_coefficient", mixture_.router_aux_loss_coefficient.value},
                    {"kernel_initializer", kernel_initializer.json}};
  arguments.update(further_arguments());
  mlp_ = &make(parts_.block, called_, "mlp", std::move(arguments));
}

}  // namespace attn::keras
