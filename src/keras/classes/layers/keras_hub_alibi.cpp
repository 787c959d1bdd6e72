// The blocks of Bloom and Falcon, whose attention has linear position biases (keras_hub/src/models/bloom, falcon).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>

#include "classes/decoding.h"
#include "classes/layers/alibi.h"
#include "classes/layers/decoder_block.h"
#include "classes/layers/head_attention.h"
#include "classes/layers/layers.h"
#include "classes/layers/table.h"
#include "classes/ops/expression.h"
#include "classes/rounding.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// Attention with biases in query, key and value, and an output projection of the joined heads.
class AlibiAttention : public HeadAttention {
 public:
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, head_size_}; }
  void check(const Ref& config) override { HeadAttention::check(config); }

 protected:
  void declare_all(Weights& w, const Shape& in, std::string_view prefix) {
    head_size_ = in.back() / num_heads;
    if (head_size_ < 1) throw bad_input("{} features are too few for {} heads", in.back(), num_heads.value);
    const Shape width{in.back()}, heads{num_heads, head_size_};
    const auto of = [&](std::string_view called) { return std::string(prefix) + std::string(called); };
    query_ = declare(w, "query_dense", of("query_dense"), width, heads, true);
    key_ = declare(w, "key_dense", of("key_dense"), width, heads, true);
    value_ = declare(w, "value_dense", of("value_dense"), width, heads, true);
    output_ = declare(w, "output_dense", of("output_dense"), width, width, true, 2, /*by_einsum=*/false);
  }

  /// `bias` is empty when only shapes are computed.
  Arg attend_with(Call& call, ValueId x, std::optional<ValueId> bias) {
    graph::Builder& b = call.builder();
    Attending how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(head_size_));
    how.path = softmax_path(call);
    how.causal = call.flag("use_causal_mask");
    how.masks = masks(call, std::nullopt);
    how.bias = bias;
    how.scores = call.lowering().want_scores;
    const ValueId query = project(call, x, query_), key = project(call, x, key_), value = project(call, x, value_);
    const Attended attended = keras::attend(call, query, key, value, how);
    const Shape in = b.shape(x);
    const ValueId joined = b.reshape(attended.context, {in[0], in[1], num_heads * head_size_});
    return results(call, project(call, joined, output_), {attended, {}}, std::nullopt);
  }

  /// The number of keys that a query can attend to.
  static Dim keys(Call& call, Dim length) {
    const Decoding* decoding = call.lowering().decoding;
    return decoding != nullptr ? decoding->capacity : length;
  }

  Positive num_heads;
  Dim head_size_ = 0;
};

/// The bias depends on the distance from the last key, and is added to scaled scores.
class BloomAttention final : public AlibiAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f("dropout", dropout);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 5> kNames = {"hidden_states", "attention_mask", "cache",
                                                               "cache_update_index", "use_causal_mask"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { declare_all(w, call.shape("hidden_states"), "_"); }
  Arg call(Call& call) override {
    const ValueId x = call.tensor("hidden_states")->id;
    if (call.lowering().symbolic()) return attend_with(call, x, std::nullopt);
    const Dim count = keys(call, call.builder().shape(x)[1]);
    const std::string key =
        fmt::format("alibi of {} heads and {} keys in {}", num_heads.value, count, attn::name_of(call.compute_dtype()));
    return attend_with(call, x, call.lowering().common(key, [&] { return std::vector{bias(call, count)}; })[0]);
  }

 private:
  /// (1,N,1,S)
  [[nodiscard]] ValueId bias(Call& call, Dim count) const {
    const Rounding rounded(call.compute_dtype());
    const std::vector<double> slopes = alibi_slopes(num_heads);
    Tensor out = table(call.compute_dtype(), {1, num_heads, 1, count}, "biases of heads and keys");
    for (Dim n = 0; n < num_heads; ++n)
      for (Dim s = 0; s < count; ++s)
        out.set(n * count + s,
                rounded(slopes[static_cast<std::size_t>(n)]) * rounded(static_cast<double>(s + 1 - count)));
    return call.builder().constant(std::move(out));
  }
};

/// Receives the bias as an argument, and adds it before scaling the scores.
class FalconAttention final : public AlibiAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("attention_dropout_rate", dropout);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 6> kNames = {
        "inputs", "alibi", "attention_mask", "cache", "cache_update_index", "use_causal_mask"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { declare_all(w, call.shape("inputs"), ""); }
  Arg call(Call& call) override {
    const ValueId x = call.tensor("inputs")->id;
    const TensorPtr alibi = call.optional_tensor("alibi");
    if (alibi == nullptr || call.lowering().symbolic()) return attend_with(call, x, std::nullopt);
    const Expression bias(call.builder(), alibi->id);
    return attend_with(call, x, bias * (1.0 / std::sqrt(static_cast<double>(head_size_))));
  }
};

class BloomDecoder final : public PlainBlock {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {"decoder_sequence",       "decoder_padding_mask",
                                                               "decoder_attention_mask", "cache",
                                                               "cache_update_index",     "use_causal_mask"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call);
    if (hidden_dim % num_heads != 0)
      throw bad_input("{} features cannot be divided among {} heads", hidden_dim, num_heads.value);
    attention_norm_ = &make_norm("pre_attention_layernorm", "_pre_attention_layernorm");
    attention_ = &make("BloomAttention", "self_attention", "_self_attention_layer",
                       {{"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"kernel_initializer", kernel_initializer.json},
                        {"bias_initializer", bias_initializer.json}});
    feed_forward_norm_ = &make_norm("post_attention_layernorm", "_post_attention_layernorm");
    intermediate_dense_ = &make_dense("mlp_intermediate_dense", "_mlp_intermediate_dense", intermediate_dim, "linear");
    output_dense_ = &make_dense("mlp_output_dense", "_mlp_output_dense", hidden_dim, "linear");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    ArgDict how = attending(call, in);
    how.back().second = call.flag("use_causal_mask", true);
    const TensorPtr x = sum(call, apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how), in);
    const TensorPtr wide = apply(call, *intermediate_dense_, {apply(call, *feed_forward_norm_, {x})});
    const TensorPtr active = Call::result(call.builder().unary(graph::UnaryFn::gelu_tanh, wide->id));
    return sum(call, apply(call, *output_dense_, {active}), x);
  }

 private:
  Positive num_heads;
  Number dropout;
};

class FalconTransformerDecoder final : public PlainBlock {
 public:
  FalconTransformerDecoder() { attention_dropout_rate = feedforward_dropout_rate = Number(0); }
  void fields(Fields& f) override {
    f.required("num_attention_heads", num_attention_heads);
    f.required("intermediate_dim", intermediate_dim);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("attention_dropout_rate", attention_dropout_rate);
    f("feedforward_dropout_rate", feedforward_dropout_rate);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 6> kNames = {
        "inputs",          "decoder_padding_mask",         "decoder_attention_mask",
        "attention_cache", "attention_cache_update_index", "training"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call);
    if (hidden_dim % num_attention_heads != 0)
      throw bad_input("{} features cannot be divided among {} heads", hidden_dim, num_attention_heads.value);
    attention_norm_ = &make_norm("input_layernorm", "input_layernorm");
    attention_ =
        &make("FalconAttention", "attention", "attention_layer",
              {{"num_heads", num_attention_heads.value}, {"attention_dropout_rate", attention_dropout_rate.value}});
    feed_forward_norm_ = &make_norm("post_attention_layernorm", "post_attention_layernorm");
    intermediate_dense_ = &make_dense("dense_h_to_4h", "dense_h_to_4h", intermediate_dim, "gelu");
    output_dense_ = &make_dense("dense_4h_to_h", "dense_4h_to_h", hidden_dim, "linear");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    ArgDict how = attending(call, in);
    if (!call.lowering().symbolic()) how.emplace_back("alibi", Call::result(shared_alibi(call, call.shape(in))));
    const TensorPtr x = sum(call, apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how), in);
    const TensorPtr wide = apply(call, *intermediate_dense_, {apply(call, *feed_forward_norm_, {x})});
    return sum(call, apply(call, *output_dense_, {wide}), x);
  }

 private:
  /// Blocks with the same padding mask share the bias.
  [[nodiscard]] ValueId shared_alibi(Call& call, const Shape& in) const {
    const TensorPtr padding = call.optional_tensor("decoder_padding_mask");
    const std::string key =
        fmt::format("alibi of {} heads and {} keys behind {} in {}", num_attention_heads.value, in[1],
                    padding == nullptr ? graph::kNone : padding->id, attn::name_of(call.compute_dtype()));
    return call.lowering().common(key, [&] { return std::vector{alibi(call, in)}; })[0];
  }

  /// (B or 1,N,1,S): the slope times the index of each key among the keys that are not padding.
  [[nodiscard]] ValueId alibi(Call& call, const Shape& in) const {
    graph::Builder& b = call.builder();
    const Decoding* decoding = call.lowering().decoding;
    const TensorPtr padding = decoding == nullptr ? call.optional_tensor("decoder_padding_mask") : nullptr;
    const DType dtype = call.compute_dtype();
    Tensor slopes(dtype, {1, num_attention_heads, 1, 1});
    const std::vector<double> exact = alibi_slopes(num_attention_heads);
    for (std::size_t n = 0; n < exact.size(); ++n) slopes.set(static_cast<std::int64_t>(n), exact[n]);
    const Dim keys = decoding != nullptr ? decoding->capacity : in[1];
    ValueId places = b.apply(graph::Iota{{1, keys}, DType::int32, 1}, {});
    if (padding != nullptr) {
      const Expression mask(b, b.cast(padding->id, DType::int32));
      const Expression count(b, b.apply(graph::Cumulate{false, 1}, {mask}));
      places = (count - count.number(1.0)) * mask;
    }
    const ValueId wide = b.expand_dims(b.expand_dims(b.cast(places, dtype), 1), 1);
    return b.binary(graph::BinaryFn::multiply, b.constant(std::move(slopes)), wide);
  }

  Positive num_attention_heads;
  Number attention_dropout_rate, feedforward_dropout_rate;
};

constexpr std::string_view kSymbols =
    "query_dense/kernel: d_model h d_head; query_dense/bias: h d_head; key_dense/kernel: d_model h d_head;"
    " key_dense/bias: h d_head; value_dense/kernel: d_model h d_head; value_dense/bias: h d_head;"
    " output_dense/kernel: d_model d_model; output_dense/bias: d_model";

constexpr std::array kKerasHubAlibiClasses = {
    ClassInfo{.name = "BloomAttention",
              .make = make_layer<BloomAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.bloom.bloom_attention",
              .role = Role::attention,
              .symbols = kSymbols},
    ClassInfo{.name = "BloomDecoder",
              .make = make_layer<BloomDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.bloom.bloom_decoder",
              .role = Role::transformer},
    ClassInfo{.name = "FalconAttention",
              .make = make_layer<FalconAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.falcon.falcon_attention",
              .role = Role::attention,
              .symbols = kSymbols},
    ClassInfo{.name = "FalconTransformerDecoder",
              .make = make_layer<FalconTransformerDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.falcon.falcon_transformer_decoder",
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_alibi_classes() { return kKerasHubAlibiClasses; }

}  // namespace attn::keras
