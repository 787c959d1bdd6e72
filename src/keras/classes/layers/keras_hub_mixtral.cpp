// The blocks of Mixtral, whose feed-forward networks are mixtures of experts (keras_hub/src/models/mixtral).
//
// Letters: B batch, T length, R = B·T rows, D width, E experts, M features inside an expert.
#include <array>

#include "classes/layers/decoder_block.h"
#include "classes/layers/decoder_families.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"

namespace attn::keras {

void MixtralFamily::fields(Fields& f) {
  LinearRotaryFamily::fields(f);
  f("sliding_window", sliding_window);
}

std::optional<std::int64_t> MixtralFamily::window() const {
  return sliding_window ? std::optional(sliding_window->value) : std::nullopt;
}

namespace {

using graph::ValueId;

/// Applies every expert to every row: (R,D) → (E,R,D).
class MixtralMoeExperts final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("activation_fn", activation);
    f("kernel_initializer", kernel_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"hidden_states"};
    return kNames;
  }
  void build(Weights& w, Call&) override {
    const Shape in{num_experts, hidden_dim, intermediate_dim}, out{num_experts, intermediate_dim, hidden_dim};
    w.add("expert_feedforward_gate_dense", in, kernel_initializer);
    w.add("expert_feedforward_intermediate_dense", in, kernel_initializer);
    w.add("expert_feedforward_output_dense", out, kernel_initializer);
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = b.expand_dims(call.tensor("hidden_states")->id, 0);  // (1,R,D)
    const auto times = [&](ValueId y, int weight) { return b.apply(graph::MatMul{}, {y, call.weight(weight)}); };
    const ValueId gate = activation.apply(b, b.cast(times(x, 0), DType::float32));
    const ValueId hidden =
        b.binary(graph::BinaryFn::multiply, times(x, 1), b.cast(gate, call.compute_dtype()));  // (E,R,M)
    return Call::result(times(hidden, 2));
  }

 private:
  Positive num_experts, hidden_dim, intermediate_dim;
  Activation activation = *Activation::named("silu");
  Initializer kernel_initializer{"glorot_uniform"};
};

/// The sum of the `top_k` most probable experts for each row, weighted by their probabilities.
class MixtralSparseMoeBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("router_jitter_noise", router_jitter_noise);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("router_aux_loss_coef", router_aux_loss_coef);
    f("kernel_initializer", kernel_initializer);
  }
  void check(const Ref& config) override {
    if (top_k > num_experts)
      config["top_k"].fail(fmt::format("{} experts cannot be chosen of {}", top_k.value, num_experts.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"hidden_states", "attention_mask", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    router_ =
        &make("Dense", "sparse_feedforward_gate_dense", "_sparse_feedforward_gate_dense",
              {{"units", num_experts.value}, {"use_bias", false}, {"kernel_initializer", kernel_initializer.json}});
    experts_ = &make("MixtralMoeExperts", "experts", "expert_bank",
                     {{"num_experts", num_experts.value},
                      {"hidden_dim", hidden_dim.value},
                      {"intermediate_dim", intermediate_dim.value},
                      {"kernel_initializer", kernel_initializer.json}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr in = call.tensor("hidden_states");
    const Shape shape = call.shape(in);
    const TensorPtr rows = Call::result(b.reshape(in->id, {kUnknown, shape.back()}));
    const TensorPtr logits = apply(call, *router_, {rows});                                 // (R,E)
    const Expression made(b, apply(call, *experts_, {rows})->id);                           // (E,R,D)
    const Expression shares(b, b.transpose(shares_of(Expression(b, logits->id)), {1, 0}));  // (E,R)
    const Expression sum = (made * Expression(b, b.expand_dims(shares, -1))).reduced({graph::ReduceFn::sum, {0}});
    return ArgList{Call::result(b.reshape(sum, shape)), logits};
  }

 private:
  /// (R,E): the weights, 0 except for the best; of equally probable experts the first ones are better.
  [[nodiscard]] Expression shares_of(const Expression& logits) const {
    graph::Builder& b = *logits.builder;
    const Expression p(b, b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {1}}, {logits}));
    const Expression own(b, b.expand_dims(p, -1)), other(b, b.expand_dims(p, 1));  // (R,E,1), (R,1,E)
    const Expression rank(b, b.apply(graph::Iota{{1, num_experts, 1}, DType::int32, 1}, {}));
    const Expression others(b, b.apply(graph::Iota{{1, 1, num_experts}, DType::int32, 2}, {}));
    const Expression zero = p.number(0.0), earlier = (others < rank).cast(p.dtype());
    const Expression better = where(own < other, p.number(1.0), where(own == other, earlier, zero));
    const Expression place = better.reduced({graph::ReduceFn::sum, {2}});  // (R,E)
    const Expression kept = where(place < static_cast<double>(top_k.value), p, p.number(0.0));
    return kept / kept.reduced({graph::ReduceFn::sum, {1}, true});
  }

  Positive hidden_dim, intermediate_dim, num_experts, top_k = 2;
  Number router_jitter_noise, layer_norm_epsilon = 1e-5, router_aux_loss_coef = 0.02;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* router_ = nullptr;
  Layer* experts_ = nullptr;
};

class MixtralTransformerDecoder final : public GatedBlock {
 public:
  MixtralTransformerDecoder()
      : GatedBlock(std::make_unique<MixtralFamily>(),
                   {.attention_class = "CachedMixtralAttention", .norm_class = "MixtralLayerNormalization"}) {}

  void build(Weights& w, Call& call) override {
    called_ = call.lowering().automatic_name("MixtralSparseMoeBlock");
    GatedBlock::build(w, call);
  }

 private:
  void further_fields(Fields& f) override {
    f.required("num_experts", num_experts);
    f("top_k", top_k);
    f("router_jitter_noise", router_jitter_noise);
    if (!f.reading()) return;
    f("router_aux_loss_coef", router_aux_loss_coef);  // KerasHub accepts it but does not write it
  }
  void make_feed_forward(std::int64_t hidden_dim) override {
    experts_ = &make("MixtralSparseMoeBlock", called_, "_sparse_moe_block",
                     {{"hidden_dim", hidden_dim},
                      {"intermediate_dim", intermediate_dim.value},
                      {"num_experts", num_experts.value},
                      {"top_k", top_k.value},
                      {"router_jitter_noise", router_jitter_noise.value},
                      {"router_aux_loss_coef", router_aux_loss_coef.value}});
  }
  TensorPtr feed_forward(Call& call, const TensorPtr& x) override { return apply(call, *experts_, {x}); }

  Positive num_experts, top_k = 2;
  Number router_jitter_noise, router_aux_loss_coef = 0.02;
  std::string called_;
  Layer* experts_ = nullptr;
};

constexpr std::string_view kModule = "keras_hub.src.models.mixtral.mixtral_decoder";
constexpr std::array kKerasHubMixtralClasses = {
    ClassInfo{.name = "CachedMixtralAttention",
              .make = make_grouped_attention<MixtralFamily>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mixtral.mixtral_attention",
              .role = Role::attention,
              .symbols = kGroupedAttentionSymbols},
    ClassInfo{.name = "MixtralMoeExperts",
              .make = make_layer<MixtralMoeExperts>,
              .since = kAnyKeras,
              .module = kModule,
              .symbols = "expert_feedforward_gate_dense: - d_model u;"
                         " expert_feedforward_intermediate_dense: - d_model u;"
                         " expert_feedforward_output_dense: - u d_model"},
    ClassInfo{.name = "MixtralSparseMoeBlock",
              .make = make_layer<MixtralSparseMoeBlock>,
              .since = kAnyKeras,
              .module = kModule},
    ClassInfo{.name = "MixtralTransformerDecoder",
              .make = make_layer<MixtralTransformerDecoder>,
              .since = kAnyKeras,
              .module = kModule,
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_mixtral_classes() { return kKerasHubMixtralClasses; }

}  // namespace attn::keras
