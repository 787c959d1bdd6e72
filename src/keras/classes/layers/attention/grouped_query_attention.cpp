// GroupedQueryAttention.
//
// Letters: see head_attention.h.
#include <array>

#include "classes/layers/attention/head_attention.h"
#include "classes/layers/layers.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

class GroupedQueryAttention : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("use_bias", use_bias);
    f("use_gate", use_gate, 314);
    f("sliding_window", sliding_window, 315);
    f("dropout", dropout);
    common_fields(f, 307);
  }

  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_query_heads"].fail("expected a multiple of num_key_value_heads, got " +
                                     config["num_query_heads"].kind());
  }

  [[nodiscard]] std::optional<Heads> heads() const override { return heads_of(num_query_heads, head_dim); }

  void build(Weights& w, Call& call) override {
    const Shape query = call.shape("query"), value = call.shape("value");
    const Shape key = call.has("key") ? call.shape("key") : value;
    if (query.rank() != 3 || value.rank() != 3 || key.rank() != 3)
      throw bad_input("expected a query, value and key of rank 3, got {}, {} and {}", query.str(), value.str(),
                      key.str());
    const Shape heads{num_query_heads, head_dim}, shared{num_key_value_heads, head_dim};
    query_ = declare(w, "query", "_query_dense", {query.back()}, heads);
    key_ = declare(w, "key", "_key_dense", {key.back()}, shared);
    if (use_gate) gate_ = declare(w, "gate", "_gate_dense", {query.back()}, heads);
    value_ = declare(w, "value", "_value_dense", {value.back()}, shared);
    output_ = declare(w, "attention_output", "_output_dense", heads, {query.back()});
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const TensorPtr query = call.tensor("query"), value = call.tensor("value");
    const TensorPtr key = call.has("key") ? call.tensor("key") : value;
    std::optional<ValueId> query_mask;
    if (const TensorPtr mask = call.optional_tensor("query_mask")) query_mask = mask->id;
    if (const TensorPtr mask = call.optional_tensor("attention_mask")) {
      // Keras passes a single attention mask unchanged to the explicit softmax, which keeps values above 0.5. Otherwise
      // all nonzero values are kept.
      const bool alone = !query_mask && !call.has("value_mask") && !call.has("key_mask") &&
                         !call.flag("use_causal_mask") && !sliding_window;
      if (alone && path(call, 4) == graph::AttentionPath::explicit_ && b.dtype(mask->id) != DType::boolean)
        call.set("attention_mask", Call::result(b.binary(BinaryFn::greater, mask->id, b.scalar_like(mask->id, 0.5))));
    }
    const ValueId q = project(call, query->id, query_), k = project(call, key->id, key_);
    const ValueId gate = use_gate ? b.unary(graph::UnaryFn::sigmoid, project(call, query->id, gate_)) : graph::kNone;
    const ValueId v = project(call, value->id, value_);
    MaskedAttended attended = attend(call, q, k, v, masks(call, query_mask), head_dim, path(call, 4), causality(call));
    if (use_gate) attended.context = b.binary(BinaryFn::multiply, attended.context, gate);
    return results(call, project(call, attended.context, output_, 2), attended, std::nullopt);
  }

  /// Keras takes the batch axis from the query.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape query = call.shape("query"), key = call.shape(call.has("key") ? "key" : "value");
    return {{query, {query[0], num_query_heads, query[1], key[1]}}};
  }

 private:
  Positive head_dim, num_query_heads, num_key_value_heads;
};

constexpr std::array kGroupedQueryAttentionClasses = {
    ClassInfo{.name = "GroupQueryAttention",
              .make = make_layer<GroupedQueryAttention>,
              .since = 300,
              .role = Role::attention,
              .shown = "GroupedQueryAttention",
              .symbols = "query/kernel: d_model h d_head; query/bias: h d_head;"
                         " key/kernel: d_model|d_key g d_head; key/bias: g d_head;"
                         " value/kernel: d_model|d_value g d_head; value/bias: g d_head;"
                         " gate/kernel: d_model h d_head; gate/bias: h d_head;"
                         " attention_output/kernel: h d_head d_model|d_out; attention_output/bias: d_model|d_out"},
};

}  // namespace

Family grouped_query_attention_classes() { return kGroupedQueryAttentionClasses; }

}  // namespace attn::keras
