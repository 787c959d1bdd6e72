// keras.ops.dot_product_attention.
#include <cmath>
#include <limits>

#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

inline constexpr std::array<std::string_view, 6> kArguments = {"query", "key", "value", "bias", "mask", "scale"};

/// Computes softmax(scale·QKᵀ + bias, masked)·V of query (B,T,N,H), key (B,S,K,H) and value (B,S,K,H).
class DotProductAttention : public WithArguments<kArguments> {
 public:
  void fields(Fields& f) override {
    f("is_causal", is_causal);
    f("flash_attention", flash_attention, 311);
    f("attn_logits_soft_cap", attn_logits_soft_cap, 311);
    if (f.reading() && !attn_logits_soft_cap.json.is_null())
      f.config()["attn_logits_soft_cap"].fail("a soft cap is for TPUs only and not supported");
  }

  Arg call(Call& call) override {
    const Operand query(call, "query"), key(call, "key"), value(call, "value");
    const DType dtype = result_type({query.type(), key.type(), value.type()});
    const Inputs in{query.as(dtype), key.as(dtype), value.as(dtype)};
    for (const Operand* operand : {&query, &key, &value})
      if (operand->rank() != 4)
        throw bad_input("attention takes (batch, length, heads, size), got {}", operand->shape().str());
    const Dim size = key.shape()[-1];
    if (size == kUnknown) throw bad_input("the size of a head must be known, the key is {}", key.shape().str());

    // The fused operation supports neither a scale tensor nor a bias.
    const bool fixed_scale = !call.has("scale") || call.arg("scale").as<TensorPtr>() == nullptr;
    if (call.has("bias") || !fixed_scale) return Call::result(spelled_out(call, in, size));
    graph::Attention attention;
    attention.scale = number_argument(call, "scale", 1.0 / std::sqrt(static_cast<double>(size)));
    attention.causal = is_causal;
    std::vector<ValueId> inputs = {in.query, in.key, in.value};
    if (call.has("mask")) {
      attention.masks = 1;
      inputs.push_back(Operand(call, "mask").as(DType::boolean));
    }
    return Call::result(call.builder().apply(attention, inputs));
  }

  /// Keras reports the query's shape, even if the value's heads have another size.
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{call.shape("query")};
  }

 private:
  struct Inputs {
    ValueId query, key, value;
  };

  ValueId spelled_out(Call& call, const Inputs& in, Dim size) const {
    Builder& b = call.builder();
    const Dim heads = b.shape(in.query)[2], shared = b.shape(in.key)[2];
    if (heads == kUnknown || shared == kUnknown || shared == 0 || heads % shared != 0)
      throw bad_input("{} query heads cannot share {} key heads", heads, shared);
    const auto by_head = [&](ValueId x, std::int64_t copies) {  // (B,S,K,H) → (B,N,S,H)
      return b.transpose(copies == 1 ? x : repeated(b, x, 2, copies), {0, 2, 1, 3});
    };
    const ValueId products =
        b.apply(graph::MatMul{false, true}, {by_head(in.query, 1), by_head(in.key, heads / shared)});
    const Expression precise = Expression{b, products}.cast(as_precise(b.dtype(products)));  // (B,N,T,S)
    const Operand scale(call, call.has("scale") ? call.arg("scale") : Arg(1.0 / std::sqrt(static_cast<double>(size))),
                        "scale");
    Expression scores = precise * Expression{b, scale.as(precise.dtype())};
    if (call.has("bias")) scores = scores + Expression{b, Operand(call, "bias").as(scores.dtype())};
    // The fused operation's replacement for −∞.
    const Expression hidden = scores.number(-0.7 * std::numeric_limits<float>::max());
    if (call.has("mask")) scores = where({b, Operand(call, "mask").as(DType::boolean)}, scores, hidden);
    if (is_causal) {
      const Shape shape = scores.shape();
      const Expression target{b, b.apply(graph::Iota{{shape[2], 1}, DType::int64, 0, 0.0, 1.0}, {})};
      const Expression source{b, b.apply(graph::Iota{{1, shape[3]}, DType::int64, 1, 0.0, 1.0}, {})};
      scores = where(source <= target, scores, hidden);
    }
    const Expression shares{b, b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {3}}, {scores})};
    const ValueId context =
        b.apply(graph::MatMul{}, {shares.cast(b.dtype(in.value)), by_head(in.value, heads / shared)});
    return b.transpose(context, {0, 2, 1, 3});
  }

  bool is_causal = false;
  std::optional<bool> flash_attention;
  Opaque attn_logits_soft_cap;
};

constexpr std::array kAttentionOperations = {
    ClassInfo{"DotProductAttention", make_layer<DotProductAttention>, 306, kNnOps, Role::attention},
};

}  // namespace

Family attention_operations() { return kAttentionOperations; }

}  // namespace attn::keras
