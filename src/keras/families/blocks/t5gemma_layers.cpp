// Letters: see head_attention.h; E length of the encoder's sequence.
#include "families/blocks/t5gemma_layers.h"

#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "classes/composite.h"
#include "classes/decoding.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/rotary.h"
#include "classes/layers/layers.h"
#include "classes/ops/expression.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/rms_norm.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// The mask (B,1,1,S) of a padding mask (B,S).
ValueId of_keys(graph::Builder& b, ValueId padding) {
  return b.expand_dims(b.expand_dims(b.cast(padding, DType::boolean), 1), 1);
}

ValueId broadcast(graph::Builder& b, ValueId x, const Shape& shape) {
  return b.shape(x) == shape ? x : b.apply(graph::Broadcast{shape}, {x});
}

/// Groups of query heads share heads of keys and values. The arguments after `training` are attn's own.
class T5GemmaAttention final : public HeadAttention {
 public:
  explicit T5GemmaAttention(T5GemmaAttentionKind kind) : kind_(kind) {}

  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("query_pre_attn_scalar", query_pre_attn_scalar);
    f.required("attention_bias", attention_bias);
    f.required("head_dim", head_dim);
    if (kind_ == T5GemmaAttentionKind::first) f("attention_type", attention_type);
    if (kind_ != T5GemmaAttentionKind::second) f("cross_attention_hidden_size", cross_attention_hidden_size);
    f("initializer_range", initializer_range);
    f("attention_dropout", dropout);
    f("attn_logit_softcapping", attn_logit_softcapping);
    f("rope_max_wavelength", rope_max_wavelength);
    if (kind_ == T5GemmaAttentionKind::first) return;
    f("rope_scaling_factor", rope_scaling_factor);
    f("use_query_key_norm", use_query_key_norm);
    f("rms_norm_eps", rms_norm_eps);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (!(query_pre_attn_scalar > 0.0)) config["query_pre_attn_scalar"].fail("expected a number > 0");
    if (!(rope_max_wavelength > 0.0)) config["rope_max_wavelength"].fail("expected a number > 0");
    if (num_attention_heads % num_key_value_heads != 0)
      config["num_attention_heads"].fail(fmt::format("{} query heads cannot share {} heads of keys and values evenly",
                                                     num_attention_heads.value, num_key_value_heads.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 10> kNames = {"inputs",
                                                                "attention_mask",
                                                                "cache",
                                                                "cache_update_index",
                                                                "training",
                                                                "causal",
                                                                "encoder_hidden_states",
                                                                "encoder_mask",
                                                                "window",
                                                                "sees_a_key"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_attention_heads, head_dim}; }

  void build(Weights& w, Call& call) override {
    kernel_initializer = Initializer("RandomNormal");
    kernel_initializer.value.stddev = initializer_range;
    const Dim width = call.shape("inputs").back();
    const Dim source = crosses() ? call.shape("encoder_hidden_states").back() : width;
    const Shape heads{num_attention_heads, head_dim}, shared{num_key_value_heads, head_dim};
    query_ = declare(w, "query", "query_dense", {width}, heads, attention_bias);
    key_ = declare(w, "key", "key_dense", {source}, shared, attention_bias);
    value_ = declare(w, "value", "value_dense", {source}, shared, attention_bias);
    output_ = declare(w, "attention_output", "output_dense", heads, {width}, attention_bias);
    if (!is_normalized()) return;
    const auto norm = [&](const char* called) {
      int index = 0;
      w.scope(called, called, [&] { index = w.add("scale", {head_dim}, Initializer("zeros")); });
      return index;
    };
    query_norm_ = norm("query_norm");
    key_norm_ = norm("key_norm");
  }

  Arg call(Call& call) override {
    const ValueId x = call.tensor("inputs")->id;
    const Decoding* const decoding = call.lowering().decoding;
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(query_pre_attn_scalar.value);
    how.soft_cap = attn_logit_softcapping ? attn_logit_softcapping->value : 0.0;
    how.scores = call.lowering().want_scores;
    ValueId query = crosses() ? project(call, x, query_) : placed(call, normal(call, x, query_, query_norm_));
    if (const TensorPtr sees = call.optional_tensor("sees_a_key")) {
      graph::Builder& b = call.builder();
      query = b.binary(graph::BinaryFn::multiply, query, b.cast(sees->id, b.dtype(query)));
    }
    Attended attended;
    if (crosses()) {
      how.masks = given_masks(call, "encoder_mask");
      const auto read = encoded(call);
      attended = decoding != nullptr
                     ? Attended{attend_encoded(call, query, read, num_key_value_heads, head_dim, how), graph::kNone}
                     : keras::attend(call, query, read->key, read->value, how);
    } else {
      const ValueId key = placed(call, normal(call, x, key_, key_norm_)), value = project(call, x, value_);
      how.causal = call.flag("causal");
      if (call.has("window")) how.window = *call.arg("window").as<std::int64_t>();
      how.masks = given_masks(call, "attention_mask");
      attended = kind_ == T5GemmaAttentionKind::merged && !call.lowering().symbolic()
                     ? merged(call, query, key, value, how)
                     : keras::attend(call, query, key, value, how);
    }
    if (attended.scores != graph::kNone) call.lowering().add_scores(attended.scores);
    return Call::result(project(call, attended.context, output_, 2));
  }

 private:
  [[nodiscard]] bool crosses() const { return attention_type.value == "cross"; }
  [[nodiscard]] bool is_normalized() const { return kind_ != T5GemmaAttentionKind::first && use_query_key_norm; }

  /// The projected heads, normalized if the family does so.
  ValueId normal(Call& call, ValueId x, const Projection& projection, int norm) const {
    const ValueId heads = project(call, x, projection);
    if (!is_normalized()) return heads;
    graph::Builder& b = call.builder();
    const DType wide = b.dtype(heads) == DType::float64 ? DType::float64 : DType::float32;
    const Expression scale(b, b.cast(call.weight(norm), wide));
    return rms_normalized(b, heads, scale + 1.0, rms_norm_eps, call.compute_dtype());
  }
  [[nodiscard]] ValueId placed(Call& call, ValueId heads) const {
    return turned(call, heads, {inverse_frequencies(rope_max_wavelength, head_dim, rope_scaling_factor)});
  }
  static std::vector<ValueId> given_masks(Call& call, std::string_view argument) {
    const TensorPtr mask = call.optional_tensor(argument);
    return mask == nullptr ? std::vector<ValueId>{} : std::vector<ValueId>{mask->id};
  }
  /// The keys and values of the encoder's sequence; empty if an earlier call cached them.
  std::optional<EncodedKeys> encoded(Call& call) const {
    const Decoding* const decoding = call.lowering().decoding;
    if (decoding != nullptr && !decoding->encoder->input) return std::nullopt;
    const ValueId x = call.tensor("encoder_hidden_states")->id;
    return EncodedKeys{normal(call, x, key_, key_norm_), project(call, x, value_)};
  }

  /// Attends to the decoder's own positions and to those of the encoder in one softmax.
  Attended merged(Call& call, ValueId query, ValueId key, ValueId value, AttentionOptions how) const {
    graph::Builder& b = call.builder();
    const Decoding* const decoding = call.lowering().decoding;
    const Shape in = b.shape(query);
    const Dim own = decoding != nullptr ? decoding->capacity : in[1];
    const auto read = encoded(call);
    const std::vector<ValueId> encoder_masks = given_masks(call, "encoder_mask");
    const Dim length = decoding != nullptr ? decoding->encoder->length : b.shape(read->key)[1];
    // (B,1,T,own) and (B,1,T,E)
    const ValueId positions =
        decoding != nullptr ? decoding->positions : b.apply(graph::Iota{{1, in[1]}, DType::int32, 1}, {});
    const Expression at(b, b.expand_dims(b.expand_dims(positions, 1), -1));
    const Expression from(b, b.apply(graph::Iota{{1, 1, 1, own}, DType::int32, 3}, {}));
    Expression seen = from <= at;
    if (how.window) seen = seen & (at - from < static_cast<double>(*how.window));
    for (const ValueId mask : how.masks) seen = seen & Expression(b, mask);
    const ValueId of_own = broadcast(b, seen, {in[0], 1, in[1], own});
    const ValueId all = b.apply(graph::Fill{{1, 1, 1, length}, DType::boolean, 1.0}, {});
    const ValueId of_encoder =
        broadcast(b, encoder_masks.empty() ? all : encoder_masks.front(), {in[0], 1, in[1], length});
    if (decoding != nullptr) {
      graph::CachedAttention op;
      op.scale = how.scale;
      op.path = how.path;
      op.soft_cap = how.soft_cap;
      op.masks = 1;
      const ValueId mask = b.apply(graph::Concat{3}, {of_encoder, of_own});
      return {attend_cached(call, query, key, value, op, {mask}, {length, read}), graph::kNone};
    }
    how.masks = {b.apply(graph::Concat{3}, {of_own, of_encoder})};
    how.causal = false;
    how.window.reset();
    return keras::attend(call, query, b.apply(graph::Concat{1}, {key, read->key}),
                         b.apply(graph::Concat{1}, {value, read->value}), how);
  }

  T5GemmaAttentionKind kind_;
  Positive hidden_size, num_attention_heads, num_key_value_heads, head_dim;
  std::optional<Positive> cross_attention_hidden_size;
  Choice attention_type{"self", {"self", "cross"}};
  Number query_pre_attn_scalar, initializer_range{0.02}, rope_max_wavelength{10000.0}, rope_scaling_factor{1.0},
      rms_norm_eps{1e-6};
  std::optional<Number> attn_logit_softcapping;
  bool attention_bias = false, use_query_key_norm = true;
  int query_norm_ = 0, key_norm_ = 0;
};

/// (activation(x·gate) ∘ (x·up))·down
class T5GemmaMLP final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("intermediate_size", intermediate_size);
    f.required("hidden_activation", hidden_activation);
    f.required("dropout_rate", dropout_rate);
    f("initializer_range", initializer_range);
  }
  void check(const Ref& config) override {
    if (hidden_activation != kApproximate && !Activation::named(hidden_activation))
      config["hidden_activation"].fail("expected gelu_approximate or the name of an activation");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"x", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const auto dense = [&](const char* called, std::int64_t units) {
      return &make("Dense", called, called,
                   {{"units", units},
                    {"use_bias", false},
                    {"kernel_initializer", normal_initializer("RandomNormal", initializer_range)}});
    };
    gate_proj_ = dense("gate_proj", intermediate_size);
    up_proj_ = dense("up_proj", intermediate_size);
    down_proj_ = dense("down_proj", hidden_size);
    dropout_ = &make("Dropout", "mlp_dropout", "dropout", {{"rate", dropout_rate.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("x");
    const Expression gate(b, apply(call, *gate_proj_, {x})->id);
    const Expression active = hidden_activation == kApproximate
                                  ? gate.unary(graph::UnaryFn::gelu_tanh)
                                  : Expression(b, Activation::named(hidden_activation)->apply(b, gate));
    const Expression inner = active * Expression(b, apply(call, *up_proj_, {x})->id);
    return apply(call, *down_proj_, {apply(call, *dropout_, {Call::result(inner)})});
  }

 private:
  static constexpr const char* kApproximate = "gelu_approximate";

  Positive hidden_size, intermediate_size;
  std::string hidden_activation = kApproximate;
  Number dropout_rate, initializer_range{0.02};
  Layer* gate_proj_ = nullptr;
  Layer* up_proj_ = nullptr;
  Layer* down_proj_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// The common part of the encoder's and the decoder's layers: parts with a norm before and after them.
class T5GemmaLayer : public Composite {
 public:
  explicit T5GemmaLayer(T5GemmaGeneration generation) : generation_(generation) {}

  void fields(Fields& f) override {
    f.required("hidden_size", hidden_size);
    f.required("rms_norm_eps", rms_norm_eps);
    f.required("num_attention_heads", num_attention_heads);
    f.required("num_key_value_heads", num_key_value_heads);
    f.required("query_pre_attn_scalar", query_pre_attn_scalar);
    f.required("attention_bias", attention_bias);
    f.required("intermediate_size", intermediate_size);
    f.required("hidden_activation", hidden_activation);
    f.required("dropout_rate", dropout_rate);
    f.required("initializer_range", initializer_range);
    f.required("attention_dropout", attention_dropout);
    f.required("layer_type", layer_type);
    f.required("head_dim", head_dim);
    f("attn_logit_softcapping", attn_logit_softcapping);
    f("sliding_window", sliding_window);
    f("rope_max_wavelength", rope_max_wavelength);
    if (is_second() && f.reading()) f("rope_scaling_factor", rope_scaling_factor);
    if (is_second()) f("use_query_key_norm", use_query_key_norm);
  }
  void check(const Ref& config) override {
    if (slides() && !sliding_window) config["sliding_window"].fail("a layer with sliding attention needs a size");
  }
  [[nodiscard]] bool supports_masking() const override { return false; }

 protected:
  /// A part of the block, and the norms around it.
  struct Part {
    Layer* before = nullptr;
    Layer* layer = nullptr;
    Layer* after = nullptr;
  };

  [[nodiscard]] bool is_second() const { return generation_ == T5GemmaGeneration::second; }
  [[nodiscard]] bool slides() const { return layer_type == "sliding_attention"; }

  Layer& make_attention(const char* class_name, const char* called, const char* attribute, const Json& further) {
    Json arguments = {{"hidden_size", hidden_size.value},
                      {"num_attention_heads", num_attention_heads.value},
                      {"num_key_value_heads", num_key_value_heads.value},
                      {"query_pre_attn_scalar", query_pre_attn_scalar.value},
                      {"attention_bias", attention_bias},
                      {"head_dim", head_dim.value},
                      {"initializer_range", initializer_range.value},
                      {"attention_dropout", attention_dropout.value},
                      {"attn_logit_softcapping", attn_logit_softcapping ? Json(attn_logit_softcapping->value) : Json()},
                      {"rope_max_wavelength", rope_max_wavelength.value}};
    if (is_second())
      arguments.update({{"rope_scaling_factor", rope_scaling_factor.value},
                        {"use_query_key_norm", use_query_key_norm},
                        {"rms_norm_eps", rms_norm_eps.value}});
    arguments.update(further);
    return make(class_name, called, attribute, std::move(arguments));
  }
  Layer& make_mlp() {
    return make(is_second() ? "T5Gemma2MLP" : "T5GemmaMLP", "mlp", "mlp",
                {{"hidden_size", hidden_size.value},
                 {"intermediate_size", intermediate_size.value},
                 {"hidden_activation", hidden_activation},
                 {"dropout_rate", dropout_rate.value},
                 {"initializer_range", initializer_range.value}});
  }
  Layer& make_norm(const std::string& called, const std::string& attribute) {
    return make(is_second() ? "Gemma3RMSNormalization" : "GemmaRMSNormalization", called, attribute,
                {{"epsilon", rms_norm_eps.value}});
  }
  void make_dropout(const char* called) {
    dropout_ = &make("Dropout", called, "dropout", {{"rate", dropout_rate.value}});
  }
  /// x + dropout(after(layer(before(x))))
  TensorPtr with(Call& call, const Part& part, const TensorPtr& x, const ArgDict& kwargs = {}) {
    const TensorPtr inner = apply(call, *part.layer, {apply(call, *part.before, {x})}, kwargs);
    return sum(call, x, apply(call, *dropout_, {apply(call, *part.after, {inner})}));
  }

  Positive hidden_size, num_attention_heads, num_key_value_heads, intermediate_size, head_dim;
  std::optional<Positive> sliding_window;
  Number rms_norm_eps, query_pre_attn_scalar, dropout_rate, initializer_range, attention_dropout,
      rope_max_wavelength{10000.0}, rope_scaling_factor{1.0};
  bool attention_bias = false, use_query_key_norm = true;
  std::string hidden_activation, layer_type;
  std::optional<Number> attn_logit_softcapping;

 private:
  T5GemmaGeneration generation_;
  Layer* dropout_ = nullptr;
};

class T5GemmaEncoderLayer final : public T5GemmaLayer {
 public:
  using T5GemmaLayer::T5GemmaLayer;

  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"hidden_states", "padding_mask", "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    attention_.layer = &make_attention(is_second() ? "T5Gemma2Attention" : "T5GemmaAttention", "self_attention",
                                       "self_attn", Json::object());
    attention_.before = &make_norm("pre_self_attention_layernorm", "pre_self_attn_layernorm");
    attention_.after = &make_norm("post_self_attention_layernorm", "post_self_attn_layernorm");
    mlp_.layer = &make_mlp();
    mlp_.before = &make_norm("pre_feedforward_layernorm", "pre_feedforward_layernorm");
    mlp_.after = &make_norm("post_feedforward_layernorm", "post_feedforward_layernorm");
    make_dropout("residual_dropout");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    const TensorPtr x = call.tensor("hidden_states");
    ArgDict how;
    if (!call.lowering().symbolic()) {
      std::optional<ValueId> mask;
      if (const TensorPtr padding = call.optional_tensor("padding_mask")) mask = of_keys(b, padding->id);
      if (is_second() && slides()) {
        add_window(b, call.shape(x)[1], mask, how);
      } else if (mask) {
        how.emplace_back("attention_mask", Call::result(*mask));
      }
    }
    return with(call, mlp_, with(call, attention_, x, how));
  }

 private:
  /// Adds the keys (B,1,T,T) that are no padding and in the window around each query. KerasHub adds −1e9 to a score for
  /// each reason to hide a key. A query without visible keys therefore attends equally to those with one reason,
  /// because float32 has no digits left for the score. Its own value is 0 here, so that the scores are equal.
  void add_window(graph::Builder& b, Dim length, const std::optional<ValueId>& padding, ArgDict& how) const {
    const Expression near(b, window_around(b, length, *sliding_window));
    if (!padding) return void(how.emplace_back("attention_mask", Call::result(near)));
    const Expression present(b, *padding), both = near & present;
    const Expression any = both.reduced({graph::ReduceFn::any, {3}, true});
    const Expression none = any.unary(graph::UnaryFn::logical_not);
    how.emplace_back("attention_mask", Call::result(both | (none & (near | present))));
    how.emplace_back("sees_a_key", Call::result(b.reshape(any, {b.shape(any)[0], length, 1, 1})));
  }

  Part attention_, mlp_;
};

/// Returns the sequence, and in summaries the caches of keys and values.
class T5GemmaDecoderLayer final : public T5GemmaLayer {
 public:
  using T5GemmaLayer::T5GemmaLayer;

  void fields(Fields& f) override {
    T5GemmaLayer::fields(f);
    f("cross_attention_hidden_size", cross_attention_hidden_size);
  }
  [[nodiscard]] bool takes_list() const override { return true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {
        "inputs", "self_attention_padding_mask", "cross_attention_padding_mask",
        "cache",  "cache_update_index",          "training"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    const Json source = {{"cross_attention_hidden_size",
                          cross_attention_hidden_size ? Json(cross_attention_hidden_size->value) : Json()}};
    const auto norms = [&](Part& part, const std::string& place, const std::string& attribute) {
      part.before = &make_norm("decoder_pre_" + place + "_layernorm", "pre_" + attribute + "_layernorm");
      part.after = &make_norm("decoder_post_" + place + "_layernorm", "post_" + attribute + "_layernorm");
    };
    if (is_second()) {
      attention_.layer = &make_attention("T5Gemma2MergedAttention", "merged_attention", "merged_attn", source);
      norms(attention_, "self_attention", "self_attn");
    } else {
      attention_.layer = &make_attention("T5GemmaAttention", "self_attention", "self_attn", Json::object());
      norms(attention_, "self_attention", "self_attn");
      Json cross = source;
      cross["attention_type"] = "cross";
      cross_.layer = &make_attention("T5GemmaAttention", "cross_attention", "cross_attn", cross);
      norms(cross_, "cross_attention", "cross_attn");
    }
    mlp_.layer = &make_mlp();
    norms(mlp_, "feedforward", "feedforward");
    make_dropout("decoder_residual_dropout");
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    graph::Builder& b = call.builder();
    if (call.has("cache")) throw bad_input("the argument 'cache' is not supported: runs keep their caches themselves");
    const std::vector<TensorPtr> in = call.tensors("inputs");
    if (in.size() != 2) throw bad_input("expected the decoder's and the encoder's sequence");
    const bool symbolic = call.lowering().symbolic(), decodes = call.lowering().decoding != nullptr;
    ArgDict how = {{"causal", true}}, source = {{"encoder_hidden_states", in[1]}};
    const TensorPtr own = call.optional_tensor("self_attention_padding_mask");
    if (own != nullptr && !symbolic && !decodes) how.emplace_back("attention_mask", Call::result(of_keys(b, own->id)));
    // T5Gemma also sees the key at the distance of the window.
    if (slides()) how.emplace_back("window", sliding_window->value + (is_second() ? 0 : 1));
    const TensorPtr padding = call.optional_tensor("cross_attention_padding_mask");
    if (padding != nullptr && !symbolic) source.emplace_back("encoder_mask", Call::result(of_keys(b, padding->id)));
    if (is_second()) how.insert(how.end(), source.begin(), source.end());
    TensorPtr x = with(call, attention_, in[0], how);
    if (!is_second()) x = with(call, cross_, x, source);
    x = with(call, mlp_, x);
    if (!symbolic) return x;
    const auto cache = [&](const TensorPtr& sequence) {
      const Shape shape{kUnknown, 2, call.shape(sequence)[1], num_key_value_heads, head_dim};
      return Call::result(b.apply(graph::Fill{shape, call.compute_dtype(), 0.0}, {}));
    };
    return ArgList{x, ArgList{cache(in[0]), cache(in[1])}};
  }

 private:
  std::optional<Positive> cross_attention_hidden_size;
  Part attention_, cross_, mlp_;
};

}  // namespace

template <T5GemmaAttentionKind kKind>
LayerPtr make_t5gemma_attention() {
  return std::make_unique<T5GemmaAttention>(kKind);
}
LayerPtr make_t5gemma_mlp() { return std::make_unique<T5GemmaMLP>(); }
template <T5GemmaGeneration kGeneration>
LayerPtr make_t5gemma_encoder_layer() {
  return std::make_unique<T5GemmaEncoderLayer>(kGeneration);
}
template <T5GemmaGeneration kGeneration>
LayerPtr make_t5gemma_decoder_layer() {
  return std::make_unique<T5GemmaDecoderLayer>(kGeneration);
}
template LayerPtr make_t5gemma_attention<T5GemmaAttentionKind::first>();
template LayerPtr make_t5gemma_attention<T5GemmaAttentionKind::second>();
template LayerPtr make_t5gemma_attention<T5GemmaAttentionKind::merged>();
template LayerPtr make_t5gemma_encoder_layer<T5GemmaGeneration::first>();
template LayerPtr make_t5gemma_encoder_layer<T5GemmaGeneration::second>();
template LayerPtr make_t5gemma_decoder_layer<T5GemmaGeneration::first>();
template LayerPtr make_t5gemma_decoder_layer<T5GemmaGeneration::second>();

}  // namespace attn::keras
