#include "families/blocks/mixture.h"

#include <fmt/format.h>

#include <array>
#include <string>

namespace attn::keras {

Expression among_largest(const Expression& x, std::int64_t count) {
  graph::Builder& b = *x.builder;
  const Dim experts = x.shape().back();
  const Expression own(b, b.expand_dims(x, -1)), other(b, b.expand_dims(x, 1));  // (R,E,1), (R,1,E)
  const Expression index(b, b.apply(graph::Iota{{1, experts, 1}, DType::int32, 1}, {}));
  const Expression others(b, b.apply(graph::Iota{{1, 1, experts}, DType::int32, 2}, {}));
  const Expression zero = x.number(0.0), earlier = (others < index).cast(x.dtype());
  const Expression larger = where(own < other, x.number(1.0), where(own == other, earlier, zero));
  return larger.reduced({graph::ReduceFn::sum, {2}}) < static_cast<double>(count);
}

Expression expert_weights(const Expression& logits, std::int64_t top_k, bool normalized) {
  graph::Builder& b = *logits.builder;
  const Expression p(b, b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {1}}, {logits}));
  const Expression kept = where(among_largest(p, top_k), p, p.number(0.0));
  return normalized ? kept / kept.reduced({graph::ReduceFn::sum, {1}, true}) : kept;
}

void SparseMoeBlock::check(const Ref& config) {
  if (top_k > num_experts)
    config["top_k"].fail(fmt::format("{} experts cannot be chosen of {}", top_k.value, num_experts.value));
}

std::span<const std::string_view> SparseMoeBlock::arguments() const {
  static constexpr std::array<std::string_view, 3> kNames = {"hidden_states", "attention_mask", "training"};
  return kNames;
}

void SparseMoeBlock::make_router() {
  router_ = &make("Dense", "sparse_feedforward_gate_dense", "_sparse_feedforward_gate_dense",
                  {{"units", num_experts.value}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
}

void SparseMoeBlock::make_experts(std::string_view class_name, std::string_view attribute) {
  experts_ = &make(class_name, "experts", attribute,
                   {{"num_experts", num_experts.value},
                    {"hidden_dim", hidden_dim.value},
                    {"intermediate_dim", intermediate_dim.value},
                    {"kernel_initializer", kernel_initializer.json}});
}

Arg SparseMoeBlock::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  graph::Builder& b = call.builder();
  const TensorPtr in = call.tensor("hidden_states");
  const Shape shape = call.shape(in);
  const TensorPtr rows = Call::result(b.reshape(in->id, {kUnknown, shape.back()}));
  const Routing routing = route(call, rows);
  const Expression made(b, apply(call, *experts_, {rows})->id);  // (E,R,D)
  const Expression shares(b, b.transpose(routing.weights, {1, 0}));
  const Expression weighted = made * Expression(b, b.expand_dims(shares, -1));  // (E,R,D)
  const Expression sum = completed(call, rows, weighted.reduced({graph::ReduceFn::sum, {0}}));
  return ArgList{Call::result(b.reshape(sum, shape)), routing.output};
}

std::span<const std::string_view> ExpertBank::arguments() const {
  static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
  return kNames;
}

Expression ExpertBank::rows(Call& call) {
  graph::Builder& b = call.builder();
  return {b, b.expand_dims(call.tensor("hidden_states")->id, 0)};
}

Expression ExpertBank::times(Call& call, const Expression& x, int weight) {
  graph::Builder& b = call.builder();
  return {b, b.apply(graph::MatMul{}, {x, call.weight(weight)})};
}

}  // namespace attn::keras
