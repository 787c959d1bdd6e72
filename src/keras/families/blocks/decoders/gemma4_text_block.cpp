// Letters: B batch, T tokens, D width, P features of the input for each layer.
#include "families/blocks/decoders/gemma4_text_block.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/attention/padding_mask.h"
#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma4_block.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/images/image_masks.h"

namespace attn::keras {
namespace {

/// Optionally experts are applied beside the feed-forward network, and a vector for each token and layer gates a last
/// part. A call returns the result, and the keys and values that other blocks may share.
class Gemma4TextDecoderBlock final : public Gemma4Block {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("logit_soft_cap", logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("rope_wavelength", rope_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
    f("rope_partial_rotary_factor", rope_partial_rotary_factor);
    f("use_bidirectional_attention", use_bidirectional_attention);
    f("use_vision_bidirectional_attention", use_vision_bidirectional_attention);
    f("is_global_attention", is_global_attention);
    f("global_head_dim", global_head_dim);
    f("is_kv_shared_layer", is_kv_shared_layer);
    f("kv_shared_layer_index", kv_shared_layer_index);
    f("hidden_size_per_layer_input", hidden_size_per_layer_input);
    f("attention_k_eq_v", attention_k_eq_v);
    f("num_global_key_value_heads", num_global_key_value_heads);
    f("use_double_wide_mlp", use_double_wide_mlp);
    f("enable_moe_block", enable_moe_block);
    f("num_experts", num_experts);
    f("expert_intermediate_dim", expert_intermediate_dim);
    f("num_experts_per_token", num_experts_per_token);
    f("is_text_layer", is_text_layer);
  }
  void check(const Ref& config) override {
    if (!is_text_layer) config["is_text_layer"].fail("expected true: KerasHub has another class for images");
    if (hidden_size_per_layer_input < 0) config["hidden_size_per_layer_input"].fail("expected an integer from 0 on");
    if (enable_moe_block && (!num_experts || !expert_intermediate_dim))
      config["enable_moe_block"].fail("expected false without num_experts and expert_intermediate_dim");
    if (intermediate_dim > kWidest) config["intermediate_dim"].fail(fmt::format("expected at most {}", kWidest));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 9> kNames = {
        "x",         "padding_mask",      "vision_mask",     "cache",    "cache_update_index",
        "shared_kv", "cache_update_mask", "per_layer_input", "positions"};
    return kNames;
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("x");
    return {{in, {in[0], 2, in[1], num_key_value_heads, own_head_dim()}}};
  }

  void build(Weights& w, Call& call) override {
    if (width(call) != hidden_dim)
      throw bad_input("hidden_dim is {}, but the layer is called with {} features", hidden_dim.value, width(call));
    layer_scalar_ = w.add("layer_scalar", Shape{}, Initializer("ones"), false);
    make_parts(call, use_double_wide_mlp && is_kv_shared_layer ? 2 * intermediate_dim : intermediate_dim.value);
    if (enable_moe_block) make_mixture();
    if (hidden_size_per_layer_input == 0) return;
    per_layer_input_gate_ = &make_unbiased("per_layer_input_gate", hidden_size_per_layer_input);
    per_layer_up_proj_ = &make_unbiased("per_layer_up_proj", hidden_dim);
    post_per_layer_input_norm_ = &make_norm("post_per_layer_input_norm");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr in = limited(call);
    const Arg results = call.lowering().apply(*attention_, ArgList{apply(call, *pre_attention_norm_, {in})},
                                              attention_arguments(call, in));
    const ArgList& attended = *results.as<ArgList>();
    TensorPtr x = summed(call, in, attended[0]);
    if (hidden_size_per_layer_input > 0 && call.has("per_layer_input")) x = sum(call, x, gated(call, x));
    const Expression scaled = Expression(b, x->id) * Expression(b, call.weight(layer_scalar_));
    return ArgList{Call::result(scaled), attended[1]};
  }

 private:
  static constexpr std::int64_t kWidest = std::int64_t{1} << 40;

  [[nodiscard]] std::int64_t own_head_dim() const {
    return is_global_attention && global_head_dim ? *global_head_dim : head_dim;
  }

  Layer& make_dense(const char* called, const char* attribute, const char* equation, std::int64_t units) override {
    return make("EinsumDense", called, attribute, {{"equation", equation}, {"output_shape", {nullptr, units}}});
  }
  Layer& make_attention() override {
    const auto or_null = [](const auto& value) { return value ? Json(value->value) : Json(); };
    return make("Gemma4TextAttention", "attention", "attention",
                {{"head_dim", own_head_dim()},
                 {"num_query_heads", num_query_heads.value},
                 {"num_key_value_heads", num_key_value_heads.value},
                 {"logit_soft_cap", or_null(logit_soft_cap)},
                 {"use_sliding_window_attention", use_sliding_window_attention},
                 {"sliding_window_size", sliding_window_size.value},
                 {"layer_norm_epsilon", layer_norm_epsilon.value},
                 {"rope_wavelength", rope_wavelength.value},
                 {"rope_scaling_factor", rope_scaling_factor.value},
                 {"rope_partial_rotary_factor", rope_partial_rotary_factor.value},
                 {"use_bidirectional_attention", use_bidirectional_attention},
                 {"is_global_attention", is_global_attention},
                 {"is_kv_shared_layer", is_kv_shared_layer},
                 {"attention_k_eq_v", attention_k_eq_v},
                 {"num_global_key_value_heads", or_null(num_global_key_value_heads)},
                 {"dropout", dropout.value}});
  }
  void make_mixture() {
    pre_ffw_norm_moe_ = &make_norm("pre_ffw_norm_moe");
    post_ffw_norm_dense_ = &make_norm("post_ffw_norm_dense");
    post_ffw_norm_moe_path_ = &make_norm("post_ffw_norm_moe_path");
    moe_router_ = &make("Gemma4Router", "moe_router", "moe_router",
                        {{"num_experts", num_experts->value},
                         {"num_experts_per_token", num_experts_per_token.value},
                         {"layer_norm_epsilon", layer_norm_epsilon.value}});
    moe_expert_bank_ = &make("Gemma4MoEBlock", "moe_expert_bank", "moe_expert_bank",
                             {{"num_experts", num_experts->value},
                              {"hidden_dim", hidden_dim.value},
                              {"expert_intermediate_dim", expert_intermediate_dim->value}});
  }

  /// Returns the arguments of the attention.
  [[nodiscard]] ArgDict attention_arguments(Call& call, const TensorPtr& in) const {
    ArgDict how = use_bidirectional_attention ? attending_both_ways(call, in) : attending_back(call, in);
    for (const char* argument : {"shared_kv", "positions"})
      if (const TensorPtr value = call.optional_tensor(argument)) how.emplace_back(argument, value);
    return how;
  }

  /// Returns the arguments of an attention to earlier positions. In blocks with a window, an image's positions may also
  /// see each other, except in a decode step.
  [[nodiscard]] ArgDict attending_back(Call& call, const TensorPtr& in) const {
    if (call.lowering().decoding != nullptr) return {{"use_causal_mask", true}};
    const Arg keys = merged_mask(call, in, "padding_mask", "");
    const bool joins = use_vision_bidirectional_attention && !is_global_attention && call.has("vision_mask");
    if (!joins || call.lowering().symbolic()) return {{"attention_mask", keys}, {"use_causal_mask", true}};
    graph::Builder& b = call.builder();
    const auto window = use_sliding_window_attention ? std::optional<Dim>(sliding_window_size.value) : std::nullopt;
    Expression mask(b, image_mask(b, call.tensor("vision_mask")->id, window));
    if (!keys.is_none()) mask = mask & Expression(b, b.cast((*keys.as<TensorPtr>())->id, DType::boolean));
    return {{"attention_mask", Call::result(mask)}, {"use_causal_mask", false}};
  }

  [[nodiscard]] TensorPtr feed_forward(Call& call, const TensorPtr& x) const override {
    TensorPtr dense = Gemma4Block::feed_forward(call, x);
    if (!enable_moe_block) return dense;
    graph::Builder& b = call.builder();
    const TensorPtr shares = apply(call, *moe_router_, {x});
    const Shape shape = call.shape(x);
    const graph::ValueId rows = b.reshape(apply(call, *pre_ffw_norm_moe_, {x})->id, {kUnknown, shape.back()});
    const TensorPtr mixed = apply(call, *moe_expert_bank_, {Call::result(rows), shares});
    const TensorPtr experts = apply(call, *post_ffw_norm_moe_path_, {Call::result(b.reshape(mixed->id, shape))});
    return sum(call, apply(call, *post_ffw_norm_dense_, {dense}), experts);
  }

  /// Returns a projection of the layer's own input (B,T,P), which gates the features of x.
  TensorPtr gated(Call& call, const TensorPtr& x) const {
    graph::Builder& b = call.builder();
    const Expression gate(b, b.unary(graph::UnaryFn::gelu_tanh, apply(call, *per_layer_input_gate_, {x})->id));
    const Expression own(b, b.cast(call.tensor("per_layer_input")->id, gate.dtype()));
    return apply(call, *post_per_layer_input_norm_, {apply(call, *per_layer_up_proj_, {Call::result(gate * own)})});
  }

  Positive sliding_window_size = 512, num_experts_per_token = 8;
  std::optional<Positive> global_head_dim, num_global_key_value_heads, num_experts, expert_intermediate_dim;
  std::optional<std::int64_t> kv_shared_layer_index;
  std::int64_t hidden_size_per_layer_input = 0;
  std::optional<Number> logit_soft_cap;
  Number rope_scaling_factor{1.0}, rope_partial_rotary_factor{1.0};
  bool use_sliding_window_attention = false, use_bidirectional_attention = false,
       use_vision_bidirectional_attention = false, is_global_attention = false, is_kv_shared_layer = false,
       attention_k_eq_v = false, use_double_wide_mlp = false, enable_moe_block = false, is_text_layer = true;
  int layer_scalar_ = 0;
  Layer *pre_ffw_norm_moe_ = nullptr, *post_ffw_norm_dense_ = nullptr, *post_ffw_norm_moe_path_ = nullptr,
        *moe_router_ = nullptr, *moe_expert_bank_ = nullptr, *per_layer_input_gate_ = nullptr,
        *per_layer_up_proj_ = nullptr, *post_per_layer_input_norm_ = nullptr;
};

}  // namespace

LayerPtr make_gemma4_block() { return std::make_unique<Gemma4TextDecoderBlock>(); }

}  // namespace attn::keras
