// Attention and AdditiveAttention: attention without projections.
#include <array>

#include "classes/layers/layers.h"
#include "classes/training.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

/// The inputs are [query (B,T,D), value (B,S,Dv), key (B,S,D)?]. Scores are not divided by √D, but `use_scale` adds a
/// trained scale.
class Attention : public Layer {
 public:
  void fields(Fields& f) override {
    f("use_scale", use_scale);
    f("score_mode", score_mode);
    f("dropout", dropout);
    f("seed", seed, 315);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 5> kNames = {"inputs", "mask", "training", "return_attention_scores",
                                                               "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool takes_list() const override { return true; }
  [[nodiscard]] bool supports_masking() const override { return true; }
  Masks compute_mask(Call&, const Masks& previous) override {
    return previous.empty() ? Masks{} : Masks{previous.front()};
  }

  void build(Weights& w, Call&) override {
    if (use_scale) scale_ = w.add("scale", {}, Initializer("ones"));
    if (score_mode.value == "concat") concat_ = w.add("concat_score_weight", {}, Initializer("ones"));
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const std::vector<TensorPtr> inputs = call.tensors("inputs");
    if (inputs.size() < 2 || inputs.size() > 3)
      throw bad_input("expected a list of [query, value] or [query, value, key], got {} tensors", inputs.size());
    const ValueId query = inputs[0]->id, value = inputs[1]->id, key = inputs.size() > 2 ? inputs[2]->id : value;
    if (b.shape(query).rank() < 2) throw bad_input("expected a query of rank 2 or more, got {}", b.shape(query).str());
    std::optional<ValueId> query_mask, value_mask;
    if (call.has("mask")) {
      const auto* list = call.arg("mask").as<ArgList>();
      if (list == nullptr || list->size() < 2)
        throw bad_input("the argument 'mask' must be a list of [query_mask, value_mask]");
      const auto at = [&](std::size_t i) -> std::optional<ValueId> {
        const auto* tensor = (*list)[i].as<TensorPtr>();
        return tensor ? std::optional(b.cast((*tensor)->id, DType::boolean)) : std::nullopt;
      };
      query_mask = at(0);
      value_mask = at(1);
    }

    ValueId scores = this->scores(call, query, key);  // (B,T,S)
    if (const auto mask = visible(call, scores, value_mask)) {
      // Subtracts 1e9 (65504 in float16) from masked scores, as _apply_scores in
      // keras/src/layers/attention/attention.py does.
      const double large = b.dtype(scores) == DType::float16 ? 65504.0 : 1e9;
      const ValueId lowered = b.binary(BinaryFn::subtract, scores, b.scalar_like(scores, large));
      scores = b.apply(graph::Select{}, {*mask, scores, lowered});
    }
    ValueId probabilities =
        b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {b.shape(scores).rank() - 1}}, {scores});
    if (drops(call, dropout)) probabilities = dropped(call, probabilities, dropout, seed.json, b.shape(probabilities));
    ValueId out = b.apply(graph::MatMul{}, {probabilities, value});
    if (query_mask) out = b.apply(graph::Select{}, {b.expand_dims(*query_mask, -1), out, b.scalar_like(out, 0.0)});
    if (call.lowering().want_scores) call.lowering().add_scores(b.expand_dims(probabilities, -3));
    if (call.flag("return_attention_scores")) return ArgList{Call::result(out), Call::result(probabilities)};
    return Call::result(out);
  }

  /// In Keras's compute_output_spec, the batch axes are those of the query.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const std::vector<TensorPtr> inputs = call.tensors("inputs");
    const Shape query = call.shape(inputs[0]);
    Shape out = query.slice(0, query.rank() - 1), scores = out;
    out.push_back(call.shape(inputs[1]).back());
    scores.push_back(call.shape(inputs.back())[-2]);
    return {{out, scores}};
  }

 protected:
  virtual ValueId scores(Call& call, ValueId query, ValueId key) {
    graph::Builder& b = call.builder();
    if (score_mode.value == "dot") {
      const ValueId scores = b.apply(graph::MatMul{false, true}, {query, key});
      return use_scale ? b.binary(BinaryFn::multiply, scores, call.weight(scale_)) : scores;
    }
    ValueId sum = pairwise(b, query, key);
    if (use_scale) sum = b.binary(BinaryFn::multiply, call.weight(scale_), sum);
    return b.binary(BinaryFn::multiply, call.weight(concat_), reduced(b, b.unary(graph::UnaryFn::tanh, sum)));
  }

  /// Returns query (B,T,1,D) + key (B,1,S,D).
  static ValueId pairwise(graph::Builder& b, ValueId query, ValueId key) {
    return b.binary(BinaryFn::add, b.expand_dims(query, -2), b.expand_dims(key, -3));
  }
  /// Sums over the last axis.
  static ValueId reduced(graph::Builder& b, ValueId x) {
    return b.apply(graph::Reduce{graph::ReduceFn::sum, {b.shape(x).rank() - 1}, false}, {x});
  }

  bool use_scale = false;
  Choice score_mode{"dot", {"dot", "concat"}};
  Number dropout;
  Opaque seed;
  int scale_ = 0, concat_ = 0;

 private:
  /// Returns which keys are visible, as a bool mask that broadcasts to the scores; empty if all are visible.
  static std::optional<ValueId> visible(Call& call, ValueId scores, std::optional<ValueId> value_mask) {
    graph::Builder& b = call.builder();
    if (value_mask) value_mask = b.expand_dims(*value_mask, -2);  // (B,1,S)
    if (!call.flag("use_causal_mask")) return value_mask;
    const Shape& shape = b.shape(scores);
    const int rank = shape.rank();
    const Shape square{shape[rank - 2], shape[rank - 1]};
    const ValueId row = b.apply(graph::Iota{square, DType::int32, 0}, {}),
                  column = b.apply(graph::Iota{square, DType::int32, 1}, {});
    ValueId causal = b.expand_dims(b.binary(BinaryFn::greater_equal, row, column), 0);
    return value_mask ? b.binary(BinaryFn::logical_and, *value_mask, causal) : causal;
  }
};

/// Attention with scores = Σ scale·tanh(query + key).
class AdditiveAttention : public Attention {
 public:
  AdditiveAttention() { use_scale = true; }
  void fields(Fields& f) override {
    f("use_scale", use_scale);
    f("dropout", dropout);
    f("seed", seed, 315);
    f.ignored({"score_mode"});
  }
  void build(Weights& w, Call& call) override {
    if (use_scale)
      scale_ = w.add("scale", {call.shape(call.tensors("inputs").front()).back()}, Initializer("glorot_uniform"));
  }

 protected:
  ValueId scores(Call& call, ValueId query, ValueId key) override {
    graph::Builder& b = call.builder();
    ValueId x = b.unary(graph::UnaryFn::tanh, pairwise(b, query, key));
    if (use_scale) x = b.binary(BinaryFn::multiply, call.weight(scale_), x);
    return reduced(b, x);
  }
};

/// The constructor argument `causal` of Keras 2 is an argument of the call in Keras 3.
constexpr std::array kKeras2OfDot = {Keras2Key{.name = "causal", .argument = "use_causal_mask"}};

constexpr std::array kDotAttentionClasses = {
    ClassInfo{
        .name = "Attention",
        .make = make_layer<Attention>,
        .since = 300,
        .role = Role::dot_attention,
        .symbols = "scale: d_model",
        .no_params =
            "query, key and value come as they are: it has no projections, and use_scale is off (on, it is one number)",
        .keras2_keys = kKeras2OfDot},
    ClassInfo{.name = "AdditiveAttention",
              .make = make_layer<AdditiveAttention>,
              .since = 300,
              .role = Role::dot_attention,
              .symbols = "scale: d_model",
              .no_params = "query and key are added as they come, and use_scale is off (on, it is d_model numbers)",
              .keras2_keys = kKeras2OfDot},
};

}  // namespace

Family dot_attention_classes() { return kDotAttentionClasses; }

}  // namespace attn::keras
