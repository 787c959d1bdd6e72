// Letters: N images, P patches, D width, Q heads of queries, K heads of keys and values, H head size.
#include "families/blocks/images/gemma4_vision_block.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/attention/attend.h"
#include "classes/layers/attention/rotary.h"
#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/images/patch_positions.h"
#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Attention between all patches of an image, without a scale, with norms of queries, keys and values. The first half
/// of each head turns by the column of its patch, the second half by the row.
class Gemma4VisionAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("logit_soft_cap", logit_soft_cap);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("rope_wavelength", rope_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
    f("dropout", dropout);
    f("rope_partial_rotary_factor", rope_partial_rotary_factor);
    if (f.reading()) f("use_clipped_linears", use_clipped_linears);  // KerasHub does not write this key
  }
  void check(const Ref& config) override {
    if (num_query_heads % num_key_value_heads != 0)
      config["num_query_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                 num_query_heads.value, num_key_value_heads.value));
    if (head_dim % 4 != 0)
      config["head_dim"].fail(
          fmt::format("expected a multiple of 4 for rotary positions on two axes, got {}", head_dim.value));
    check_turning(head_dim);
    if (logit_soft_cap && !(*logit_soft_cap > 0.0)) config["logit_soft_cap"].fail("expected a number > 0 or null");
    if (!(rope_wavelength > 0.0)) config["rope_wavelength"].fail("expected a number > 0");
    check_rate(config, "dropout", dropout);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "position_ids"};
    return kNames;
  }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_query_heads, head_dim}; }

  void build(Weights&, Call& call) override {
    const Dim width = call.shape("x").back();
    if (width % num_query_heads != 0 || width / num_query_heads != head_dim)
      throw bad_input("{} heads of {} features are not the {} features of the input", num_query_heads.value,
                      head_dim.value, width);
    query_ = &make_heads("query", "query_dense", "bsd,qdh->bsqh", num_query_heads);
    key_ = &make_heads("key", "key_dense", "bsd,kdh->bskh", num_key_value_heads);
    value_ = &make_heads("value", "value_dense", "bsd,kdh->bskh", num_key_value_heads);
    query_norm_ = &make_norm("Gemma4RMSNormalization", "query_norm");
    key_norm_ = &make_norm("Gemma4RMSNormalization", "key_norm");
    value_norm_ = &make_norm("Gemma4VNorm", "value_norm");
    output_ = &make_dense("attention_output", "output_dense", "btnh,nhd->btd", {nullptr, width});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr x = call.tensor("x");
    AttentionOptions how;
    how.path = softmax_path(call);
    how.soft_cap = logit_soft_cap ? logit_soft_cap->value : 0.0;
    std::optional<PatchPositions> positions;
    if (!call.lowering().symbolic()) {
      positions = patch_positions(call, call.tensor("position_ids")->id);
      const Shape shape = b.shape(positions->shown);
      how.masks.push_back(b.reshape(positions->shown, {shape[0], 1, 1, shape[1]}));
    }
    const auto heads = [&](Layer* projection, Layer* norm) {
      return apply(call, *norm, {apply(call, *projection, {x})})->id;
    };
    const ValueId query = turned(call, heads(query_, query_norm_), positions),
                  key = turned(call, heads(key_, key_norm_), positions), value = heads(value_, value_norm_);
    const ValueId context = attended_heads(call, query, key, value, how, dropout);
    return apply(call, *output_, {Call::result(b.reshape(context, b.shape(query)))});
  }

 private:
  Layer& make_dense(const char* called, const char* attribute, const char* equation, Json output_shape) {
    return make("Gemma4ClippableEinsumDense", called, attribute,
                {{"equation", equation},
                 {"output_shape", std::move(output_shape)},
                 {"use_clipped_linears", use_clipped_linears}});
  }
  Layer& make_heads(const char* called, const char* attribute, const char* equation, std::int64_t count) {
    return make_dense(called, attribute, equation, {nullptr, count, head_dim.value});
  }
  Layer& make_norm(std::string_view norm_class, const char* called) {
    return make(norm_class, called, called, {{"epsilon", layer_norm_epsilon.value}});
  }

  [[nodiscard]] ValueId turned(Call& call, ValueId heads, const std::optional<PatchPositions>& positions) const {
    if (!positions) return heads;
    Builder& b = call.builder();
    const Dim half = head_dim / 2;
    const Rotary rotary{inverse_frequencies(rope_wavelength, half)};
    const auto part = [&](Dim start, ValueId places) {
      graph::Slice slice;
      slice.ranges = {{}, {}, {}, {start, start + half, 1}};
      return keras::turned(Expression(b, b.apply(slice, {heads})), angles_at(call, rotary, places, 4)).id;
    };
    const ValueId first = part(0, positions->x);
    return b.apply(graph::Concat{3}, {first, part(half, positions->y)});
  }

  Positive head_dim, num_query_heads, num_key_value_heads;
  std::optional<Number> logit_soft_cap;
  Number layer_norm_epsilon{1e-6}, rope_wavelength{10000.0}, rope_scaling_factor{1.0}, dropout{0},
      rope_partial_rotary_factor{1.0};
  bool use_clipped_linears = true;
  Layer *query_ = nullptr, *key_ = nullptr, *value_ = nullptr, *query_norm_ = nullptr, *key_norm_ = nullptr,
        *value_norm_ = nullptr, *output_ = nullptr;
};

/// Attention and a gated feed-forward network, with norms before and after each of them.
class Gemma4VisionDecoderBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("rope_wavelength", rope_wavelength);
    if (f.reading()) f("use_clipped_linears", use_clipped_linears);  // KerasHub does not write this key
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "position_ids"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    if (call.shape("x").back() != hidden_dim)
      throw bad_input("hidden_dim is {}, but the layer is called with {}", hidden_dim.value, call.shape("x").str());
    pre_attention_norm_ = &make_norm("pre_attention_norm");
    post_attention_norm_ = &make_norm("post_attention_norm");
    attention_ = &make("Gemma4VisionAttention", "attention", "attention",
                       {{"head_dim", head_dim.value},
                        {"num_query_heads", num_query_heads.value},
                        {"num_key_value_heads", num_key_value_heads.value},
                        {"layer_norm_epsilon", layer_norm_epsilon.value},
                        {"rope_wavelength", rope_wavelength.value},
                        {"dropout", dropout.value},
                        {"use_clipped_linears", use_clipped_linears}});
    if (dropout > 0.0) {
      attention_dropout_ = &make_dropout(call, "attention_dropout");
      feedforward_dropout_ = &make_dropout(call, "feedforward_dropout");
    }
    pre_ffw_norm_ = &make_norm("pre_ffw_norm");
    post_ffw_norm_ = &make_norm("post_ffw_norm");
    gating_ffw_ = &make_dense("ffw_gating", "gating_ffw", "btd,df->btf", intermediate_dim);
    gating_ffw_2_ = &make_dense("ffw_gating_2", "gating_ffw_2", "btd,df->btf", intermediate_dim);
    ffw_linear_ = &make_dense("ffw_linear", "ffw_linear", "btf,fd->btd", hidden_dim);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    TensorPtr in = call.tensor("x");
    if (is_half(call)) in = clamped(call, in);
    const TensorPtr attended = apply(call, *attention_, {apply(call, *pre_attention_norm_, {in})},
                                     {{"position_ids", call.arg("position_ids")}});
    const TensorPtr x = added(call, in, attention_dropout_, apply(call, *post_attention_norm_, {attended}));
    const TensorPtr normal = apply(call, *pre_ffw_norm_, {x});
    const Expression gate(b, b.unary(graph::UnaryFn::gelu_tanh, apply(call, *gating_ffw_, {normal})->id));
    const Expression wide = gate * Expression(b, apply(call, *gating_ffw_2_, {normal})->id);
    const TensorPtr fed = apply(call, *post_ffw_norm_, {apply(call, *ffw_linear_, {Call::result(wide)})});
    return added(call, x, feedforward_dropout_, fed);
  }

 private:
  static bool is_half(Call& call) { return call.compute_dtype() == DType::float16; }
  /// Returns x + y; `dropout` is null without dropout.
  static TensorPtr added(Call& call, const TensorPtr& x, Layer* dropout, TensorPtr y) {
    if (dropout != nullptr) y = apply(call, *dropout, {y});
    return is_half(call) ? clamped_sum(call, x, y) : sum(call, x, y);
  }

  Layer& make_norm(const char* called) {
    return make("Gemma4RMSNormalization", called, called, {{"epsilon", layer_norm_epsilon.value}});
  }
  Layer& make_dropout(Call& call, const char* attribute) {
    return make("Dropout", call.lowering().automatic_name("Dropout"), attribute, {{"rate", dropout.value}});
  }
  Layer& make_dense(const char* called, const char* attribute, const char* equation, std::int64_t units) {
    return make(
        "Gemma4ClippableEinsumDense", called, attribute,
        {{"equation", equation}, {"output_shape", {nullptr, units}}, {"use_clipped_linears", use_clipped_linears}});
  }

  Positive hidden_dim, intermediate_dim, head_dim, num_query_heads, num_key_value_heads;
  Number layer_norm_epsilon{1e-6}, rope_wavelength{10000.0}, dropout{0};
  bool use_clipped_linears = true;
  Layer *pre_attention_norm_ = nullptr, *post_attention_norm_ = nullptr, *attention_ = nullptr,
        *attention_dropout_ = nullptr, *feedforward_dropout_ = nullptr, *pre_ffw_norm_ = nullptr,
        *post_ffw_norm_ = nullptr, *gating_ffw_ = nullptr, *gating_ffw_2_ = nullptr, *ffw_linear_ = nullptr;
};

}  // namespace

LayerPtr make_gemma4_vision_attention() { return std::make_unique<Gemma4VisionAttention>(); }
LayerPtr make_gemma4_vision_block() { return std::make_unique<Gemma4VisionDecoderBlock>(); }

}  // namespace attn::keras
