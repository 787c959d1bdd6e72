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
#include "families/blocks/decoders/gemma4_block.h"
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

class Gemma4VisionDecoderBlock final : public Gemma4Block {
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
    make_parts(call, intermediate_dim);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = limited(call);
    return summed(call, in,
                  apply(call, *attention_, {apply(call, *pre_attention_norm_, {in})},
                        {{"position_ids", call.arg("position_ids")}}));
  }

 private:
  Layer& make_attention() override {
    return make("Gemma4VisionAttention", "attention", "attention",
                {{"head_dim", head_dim.value},
                 {"num_query_heads", num_query_heads.value},
                 {"num_key_value_heads", num_key_value_heads.value},
                 {"layer_norm_epsilon", layer_norm_epsilon.value},
                 {"rope_wavelength", rope_wavelength.value},
                 {"dropout", dropout.value},
                 {"use_clipped_linears", use_clipped_linears}});
  }
  Layer& make_dense(const char* called, const char* attribute, const char* equation, std::int64_t units) override {
    return make(
        "Gemma4ClippableEinsumDense", called, attribute,
        {{"equation", equation}, {"output_shape", {nullptr, units}}, {"use_clipped_linears", use_clipped_linears}});
  }

  bool use_clipped_linears = true;
};

}  // namespace

LayerPtr make_gemma4_vision_attention() { return std::make_unique<Gemma4VisionAttention>(); }
LayerPtr make_gemma4_vision_block() { return std::make_unique<Gemma4VisionDecoderBlock>(); }

}  // namespace attn::keras
