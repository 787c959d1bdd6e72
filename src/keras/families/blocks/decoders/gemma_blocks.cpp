// Letters: see head_attention.h.
#include "families/blocks/decoders/gemma_blocks.h"

#include <array>
#include <cmath>

#include "classes/decoding.h"
#include "classes/layers/attention/padding_mask.h"
#include "classes/layers/attention/rotary.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"
#include "families/blocks/decoders/decoder_block.h"
#include "families/blocks/decoders/gemma_heads.h"
#include "families/blocks/images/image_masks.h"
#include "families/blocks/rms_norm.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Returns x/√(mean(x²) + ε)·(1 + scale), computed in float32, or float64 for float64 inputs.
ValueId normalized(Call& call, ValueId x, int weight, double epsilon) {
  graph::Builder& b = call.builder();
  const DType wide = b.dtype(x) == DType::float64 ? DType::float64 : DType::float32;
  const Expression scale(b, b.cast(call.weight(weight), wide));
  return rms_normalized(b, x, scale + 1.0, epsilon, call.compute_dtype());
}

class GemmaRMSNormalization final : public Layer {
 public:
  void fields(Fields& f) override { f("epsilon", epsilon); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { w.add("scale", {call.shape("x").back()}, Initializer("zeros")); }
  Arg call(Call& call) override { return Call::result(normalized(call, call.tensor("x")->id, 0, epsilon)); }

 private:
  Number epsilon{1e-6};
};

/// Groups of query heads share heads of keys and values.
class GemmaAttention final : public GemmaHeads {
 public:
  explicit GemmaAttention(GemmaGeneration generation) : generation_(generation) {}

  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("kernel_initializer", kernel_initializer);
    f("logit_soft_cap", logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("query_head_dim_normalize", query_head_dim_normalize);
    if (generation_ == GemmaGeneration::third) {
      f("use_query_key_norm", use_query_key_norm);
      f("layer_norm_epsilon", layer_norm_epsilon);
      f("rope_wavelength", rope_wavelength);
      f("rope_scaling_factor", rope_scaling_factor);
      f("use_bidirectional_attention", use_bidirectional_attention);
    }
    f("dropout", dropout);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (num_query_heads % num_key_value_heads != 0)
      config["num_query_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                 num_query_heads.value, num_key_value_heads.value));
    if (logit_soft_cap && !(*logit_soft_cap > 0.0)) config["logit_soft_cap"].fail("expected a number > 0 or null");
    if (!(rope_wavelength > 0.0)) config["rope_wavelength"].fail("expected a number > 0");
    if (!(rope_scaling_factor > 0.0)) config["rope_scaling_factor"].fail("expected a number > 0");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 6> kNames = {
        "x", "attention_mask", "cache", "cache_update_index", "training", "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_query_heads, head_dim}; }

  void build(Weights& w, Call& call) override {
    width_ = call.shape("x").back();
    const auto kernel = [&](std::string_view called, std::string_view attribute, Dim heads) {
      return declare_heads(w, called, attribute, {heads, width_, head_dim});
    };
    const auto norm = [&](std::string_view called) {
      int index = 0;
      w.scope(called, called, [&] { index = w.add("scale", {head_dim}, Initializer("zeros")); });
      return index;
    };
    query_ = kernel("query", "query_dense", num_query_heads);
    key_ = kernel("key", "key_dense", num_key_value_heads);
    value_ = kernel("value", "value_dense", num_key_value_heads);
    if (use_query_key_norm) {
      query_norm_ = norm("query_norm");
      key_norm_ = norm("key_norm");
    }
    output_ = declare(w, "attention_output", "output_dense", {num_query_heads, head_dim}, {width_}, false);
  }

  Arg call(Call& call) override {
    const ValueId x = call.tensor("x")->id;
    AttentionOptions how;
    // KerasHub's blocks use this scale regardless of the model's query_head_dim_normalize.
    const Dim per_head = query_head_dim_normalize ? head_dim.value : width_ / num_query_heads;
    how.scale = 1.0 / std::sqrt(static_cast<double>(per_head));
    how.path = softmax_path(call);
    how.soft_cap = logit_soft_cap ? logit_soft_cap->value : 0.0;
    how.causal = call.flag("use_causal_mask");
    how.cached = true;
    how.masks = masks(call, std::nullopt);
    if (use_sliding_window_attention && !use_bidirectional_attention) how.window = sliding_window_size.value;
    if (use_sliding_window_attention && use_bidirectional_attention && !call.lowering().symbolic())
      how.masks.push_back(window_around(call.builder(), call.shape("x")[1], sliding_window_size));
    how.scores = call.lowering().want_scores;
    const ValueId query = turned(call, x, query_, query_norm_), key = turned(call, x, key_, key_norm_);
    const Attended attended = keras::attend(call, query, key, project_heads(call, x, value_), how);
    return results(call, project(call, attended.context, output_, 2), {attended, {}}, std::nullopt);
  }

 private:
  /// Applies rotary positions. Gemma 1 and 2 then interleave the pairs of features in queries and keys, which does not
  /// change the scores.
  [[nodiscard]] ValueId turned(Call& call, ValueId x, const Projection& projection, std::optional<int> norm) const {
    ValueId heads = project_heads(call, x, projection);
    if (norm) heads = normalized(call, heads, *norm, layer_norm_epsilon);
    return keras::turned(call, heads, {inverse_frequencies(rope_wavelength, head_dim, rope_scaling_factor)});
  }

  GemmaGeneration generation_;
  Positive head_dim, num_query_heads, num_key_value_heads, sliding_window_size = 4096;
  std::optional<Number> logit_soft_cap;
  bool use_sliding_window_attention = false, query_head_dim_normalize = true, use_query_key_norm = false,
       use_bidirectional_attention = false;
  Number layer_norm_epsilon{1e-6}, rope_wavelength{10000.0}, rope_scaling_factor{1.0};
  Dim width_ = 0;
  std::optional<int> query_norm_, key_norm_;
};

/// Attention and a gated feed-forward network, with norms before them and optionally after them.
class GemmaBlock final : public DecoderBlock {
 public:
  explicit GemmaBlock(GemmaGeneration generation) : generation_(generation) {}

  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("head_dim", head_dim);
    f.required("num_query_heads", num_query_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
    f("use_post_ffw_norm", use_post_ffw_norm);
    f("use_post_attention_norm", use_post_attention_norm);
    f("logit_soft_cap", logit_soft_cap);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
    f("query_head_dim_normalize", query_head_dim_normalize);
    if (generation_ != GemmaGeneration::third) return;
    f("use_query_key_norm", use_query_key_norm);
    f("gate_dim_reduction", gate_dim_reduction);
    f("rope_wavelength", rope_wavelength);
    f("rope_scaling_factor", rope_scaling_factor);
    f("use_bidirectional_attention", use_bidirectional_attention);
  }
  void check(const Ref& config) override {
    if (intermediate_dim < gate_dim_reduction)
      config["intermediate_dim"].fail(fmt::format("expected at least {}", gate_dim_reduction.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kThird = {"x",     "padding_mask",       "vision_mask",
                                                               "cache", "cache_update_index", "cache_update_mask"};
    static constexpr std::array<std::string_view, 4> kFirst = {"x", "padding_mask", "cache", "cache_update_index"};
    static constexpr std::array<std::string_view, 5> kPali = {"x", "padding_mask", "response_mask", "cache",
                                                              "cache_update_index"};
    if (generation_ == GemmaGeneration::third) return kThird;
    if (generation_ == GemmaGeneration::pali) return kPali;
    return kFirst;
  }

  void build(Weights&, Call& call) override {
    if (width(call) != hidden_dim)
      throw bad_input("hidden_dim is {}, but the layer is called with {} features", hidden_dim.value, width(call));
    pre_attention_norm_ = &make_norm("pre_attention_norm");
    if (use_post_attention_norm) post_attention_norm_ = &make_norm("post_attention_norm");
    Json attention = {{"head_dim", head_dim.value},
                      {"num_query_heads", num_query_heads.value},
                      {"num_key_value_heads", num_key_value_heads.value},
                      {"logit_soft_cap", logit_soft_cap ? Json(logit_soft_cap->value) : Json()},
                      {"use_sliding_window_attention", use_sliding_window_attention},
                      {"sliding_window_size", sliding_window_size.value},
                      {"query_head_dim_normalize", true},
                      {"dropout", dropout.value}};
    if (generation_ == GemmaGeneration::third)
      attention.update({{"use_query_key_norm", use_query_key_norm},
                        {"rope_wavelength", rope_wavelength.value},
                        {"rope_scaling_factor", rope_scaling_factor.value},
                        {"use_bidirectional_attention", use_bidirectional_attention}});
    const char* const attention_class =
        generation_ == GemmaGeneration::third ? "CachedGemma3Attention" : "CachedGemmaAttention";
    attention_ = &make(attention_class, "attention", "attention", std::move(attention));
    pre_ffw_norm_ = &make_norm("pre_ffw_norm");
    if (use_post_ffw_norm) post_ffw_norm_ = &make_norm("post_ffw_norm");
    const auto dense = [&](const char* called, const char* attribute, const char* equation, std::int64_t units) {
      return &make("EinsumDense", called, attribute, {{"equation", equation}, {"output_shape", {nullptr, units}}});
    };
    const std::int64_t inner = intermediate_dim / gate_dim_reduction;
    gating_ffw_ = dense("ffw_gating", "gating_ffw", "btd,df->btf", inner);
    gating_ffw_2_ = dense("ffw_gating_2", "gating_ffw_2", "btd,df->btf", inner);
    ffw_linear_ = dense("ffw_linear", "ffw_linear", "btf,fd->btd", hidden_dim);
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    TensorPtr in = sequence(call);
    if (is_clamped(call)) in = clamped(call, in);
    const ArgDict how = attention_arguments(call, in);
    TensorPtr attended = apply(call, *attention_, {apply(call, *pre_attention_norm_, {in})}, how);
    if (post_attention_norm_ != nullptr) attended = apply(call, *post_attention_norm_, {attended});
    const TensorPtr x = added(call, in, attended);
    const TensorPtr normal = apply(call, *pre_ffw_norm_, {x});
    const ValueId gate = b.unary(graph::UnaryFn::gelu_tanh, apply(call, *gating_ffw_, {normal})->id);
    const ValueId inner = b.binary(graph::BinaryFn::multiply, gate, apply(call, *gating_ffw_2_, {normal})->id);
    TensorPtr out = apply(call, *ffw_linear_, {Call::result(inner)});
    if (post_ffw_norm_ != nullptr) out = apply(call, *post_ffw_norm_, {out});
    return added(call, out, x);
  }

 private:
  Layer& make_norm(const char* called) {
    const char* const norm_class =
        generation_ == GemmaGeneration::third ? "Gemma3RMSNormalization" : "GemmaRMSNormalization";
    return make(norm_class, called, called, {{"epsilon", layer_norm_epsilon.value}});
  }

  /// Returns the arguments of the attention.
  [[nodiscard]] ArgDict attention_arguments(Call& call, const TensorPtr& in) const {
    if (use_bidirectional_attention) return attending_both_ways(call, in);
    if (generation_ == GemmaGeneration::third && call.has("vision_mask")) return beside_images(call, in);
    if (generation_ == GemmaGeneration::pali) return behind_image(call, in);
    return attending(call, in);
  }

  /// Returns the arguments of PaliGemma's attention. A decode step that reads images has only images and prompts.
  static ArgDict behind_image(Call& call, const TensorPtr& in) {
    if (const Decoding* decoding = call.lowering().decoding) return {{"use_causal_mask", decoding->media.empty()}};
    const TensorPtr padding = call.optional_tensor("padding_mask"), response = call.optional_tensor("response_mask");
    if (call.lowering().symbolic()) return {{"use_causal_mask", false}};
    if (!padding) return {{"use_causal_mask", true}};
    const ValueId mask = prompt_mask(call.builder(), padding->id, response ? std::optional(response->id) : std::nullopt,
                                     call.shape(in)[1]);
    return {{"attention_mask", Call::result(mask)}, {"use_causal_mask", false}};
  }

  /// Returns the arguments of Gemma 3's attention to texts and images. KerasHub's summary has an unknown length, which
  /// differs from that of its masks.
  static ArgDict beside_images(Call& call, const TensorPtr& in) {
    if (call.lowering().symbolic()) return {{"use_causal_mask", false}};
    graph::Builder& b = call.builder();
    ValueId mask = image_mask(b, call.tensor("vision_mask")->id);
    if (const Decoding* decoding = call.lowering().decoding) {
      mask = widened(b, mask, decoding->capacity);
    } else if (const Arg keys = merged_mask(call, in, "padding_mask", ""); !keys.is_none()) {
      mask = Expression(b, mask) & Expression(b, b.cast((*keys.as<TensorPtr>())->id, DType::boolean));
    }
    return {{"attention_mask", Call::result(mask)}, {"use_causal_mask", false}};
  }

  /// Returns whether results are clamped to the range of float16, and added in float32: so does Gemma 3.
  [[nodiscard]] bool is_clamped(Call& call) const {
    return generation_ == GemmaGeneration::third && call.compute_dtype() == DType::float16;
  }
  [[nodiscard]] TensorPtr added(Call& call, const TensorPtr& x, const TensorPtr& y) const {
    return is_clamped(call) ? clamped_sum(call, x, y) : sum(call, x, y);
  }

  GemmaGeneration generation_;
  Positive hidden_dim, intermediate_dim, head_dim, num_query_heads, num_key_value_heads, sliding_window_size = 4096,
                                                                                         gate_dim_reduction = 2;
  Number layer_norm_epsilon{1e-6}, dropout{0}, rope_wavelength{10000.0}, rope_scaling_factor{1.0};
  bool use_post_ffw_norm = false, use_post_attention_norm = false, use_sliding_window_attention = false,
       query_head_dim_normalize = true, use_query_key_norm = false, use_bidirectional_attention = false;
  std::optional<Number> logit_soft_cap;
  Layer* pre_attention_norm_ = nullptr;
  Layer* post_attention_norm_ = nullptr;
  Layer* attention_ = nullptr;
  Layer* pre_ffw_norm_ = nullptr;
  Layer* post_ffw_norm_ = nullptr;
  Layer* gating_ffw_ = nullptr;
  Layer* gating_ffw_2_ = nullptr;
  Layer* ffw_linear_ = nullptr;
};

/// The mean of the positions (B,T,D) that are no padding: (B,D).
class GemmaMeanPooling final : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"inputs", "padding_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Expression x(b, call.tensor("inputs")->id);
    const Expression mask(b, b.expand_dims(b.cast(call.tensor("padding_mask")->id, x.dtype()), -1));
    const graph::Reduce over_positions{graph::ReduceFn::sum, {1}};
    const Expression count = mask.reduced(over_positions);
    return Call::result((x * mask).reduced(over_positions) / max(count, count.number(1e-9)));
  }
};

}  // namespace

ValueId window_around(graph::Builder& b, Dim length, Dim size) {
  const Expression query(b, b.apply(graph::Iota{{1, 1, length, 1}, DType::int32, 2}, {}));
  const Expression key(b, b.apply(graph::Iota{{1, 1, 1, length}, DType::int32, 3}, {}));
  const Dim before = (size + 1) / 2, after = size / 2 + 1;
  return (query - key < static_cast<double>(before)) & (key - query < static_cast<double>(after));
}

ArgDict attending_both_ways(Call& call, const TensorPtr& in) {
  if (call.lowering().decoding != nullptr) throw bad_input("a model with bidirectional attention cannot generate text");
  graph::Builder& b = call.builder();
  const Arg keys = merged_mask(call, in, "padding_mask", "");
  if (keys.is_none()) return {{"use_causal_mask", false}};
  const Expression mask(b, (*keys.as<TensorPtr>())->id);  // (B,1,T)
  const Expression all = mask * Expression(b, b.transpose(mask, {0, 2, 1}));
  return {{"attention_mask", Call::result(all)}, {"use_causal_mask", false}};
}

TensorPtr clamped(Call& call, const TensorPtr& x) {
  constexpr double kLargest = 65504.0;
  const Expression value(call.builder(), x->id);
  return Call::result(min(max(value, value.number(-kLargest)), value.number(kLargest)));
}

TensorPtr clamped_sum(Call& call, const TensorPtr& x, const TensorPtr& y) {
  const auto wide = [&](const TensorPtr& tensor) {
    return Expression(call.builder(), tensor->id).cast(DType::float32);
  };
  const TensorPtr all = clamped(call, Call::result(wide(x) + wide(y)));
  return Call::result(Expression(call.builder(), all->id).cast(DType::float16));
}

LayerPtr make_gemma_norm() { return std::make_unique<GemmaRMSNormalization>(); }
LayerPtr make_gemma_pooling() { return std::make_unique<GemmaMeanPooling>(); }
template <GemmaGeneration kGeneration>
LayerPtr make_gemma_attention() {
  return std::make_unique<GemmaAttention>(kGeneration);
}
template <GemmaGeneration kGeneration>
LayerPtr make_gemma_block() {
  return std::make_unique<GemmaBlock>(kGeneration);
}
template LayerPtr make_gemma_attention<GemmaGeneration::first>();
template LayerPtr make_gemma_attention<GemmaGeneration::third>();
template LayerPtr make_gemma_block<GemmaGeneration::first>();
template LayerPtr make_gemma_block<GemmaGeneration::pali>();
template LayerPtr make_gemma_block<GemmaGeneration::third>();

}  // namespace attn::keras
