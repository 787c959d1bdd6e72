// The blocks of GPT-NeoX (keras_hub/src/models/gpt_neo_x).
//
// Letters: see head_attention.h.
#include <array>
#include <cmath>

#include "classes/layers/decoder_block.h"
#include "classes/layers/head_attention.h"
#include "classes/layers/layers.h"
#include "classes/layers/rotary.h"

namespace attn::keras {
namespace {

using graph::ValueId;

/// One projection computes query, key and value of each head; the first part of their features has rotary positions.
class GPTNeoXAttention final : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f("dropout", dropout);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("rotary_percentage", rotary_percentage);
    f("rotary_max_wavelength", rotary_max_wavelength);
    f("max_sequence_length", max_sequence_length);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (!(rotary_max_wavelength > 0.0)) config["rotary_max_wavelength"].fail("expected a number > 0");
    if (hidden_dim % num_heads != 0)
      config["num_heads"].fail(
          fmt::format("{} features cannot be divided among {} heads", hidden_dim.value, num_heads.value));
    if (rotary_percentage < 0.0 || rotary_percentage > 1.0 || turning() % 2 != 0)
      config["rotary_percentage"].fail(
          fmt::format("of the {} features of a head an even number turns, not {}", size(), turning()));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    // The last argument is attn's own; see GroupedAttention.
    static constexpr std::array<std::string_view, 6> kNames = {
        "hidden_states", "attention_mask", "cache", "cache_update_index", "training", "use_causal_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, size()}; }

  void build(Weights& w, Call& call) override {
    const Dim width = call.shape("hidden_states").back();
    packed_ = declare(w, "query_key_value", "_qkv_dense", {width}, {num_heads, 3 * size()}, true);
    output_ = declare(w, "attention_output", "_output_dense", {width}, {hidden_dim}, true);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const ValueId x = call.tensor("hidden_states")->id;
    const ValueId packed = project(call, x, packed_);  // (B,T,N,3·H)
    const ValueId query = turned_in_part(call, features(b, packed, 0, size()), true);
    const ValueId key = turned_in_part(call, features(b, packed, size(), 2 * size()), false);
    const ValueId value = features(b, packed, 2 * size(), 3 * size());
    Attending how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(size()));
    how.path = softmax_path(call);
    how.causal = call.flag("use_causal_mask");
    how.masks = masks(call, std::nullopt);
    how.scores = call.lowering().want_scores;
    const Attended attended = keras::attend(call, query, key, value, how);
    const Shape in = b.shape(x);
    const ValueId joined = b.reshape(attended.context, {in[0], in[1], hidden_dim});
    return results(call, project(call, joined, output_), {attended, {}}, std::nullopt);
  }

 private:
  [[nodiscard]] Dim size() const { return hidden_dim / num_heads; }
  [[nodiscard]] Dim turning() const { return static_cast<Dim>(static_cast<double>(size()) * rotary_percentage); }

  static ValueId features(graph::Builder& b, ValueId x, Dim from, Dim to) {
    graph::Slice some;
    some.ranges = {{}, {}, {}, {from, to, 1}};
    return b.apply(some, {x});
  }

  /// In a step of one token, KerasHub uses position 0 for the query, so it does not rotate it.
  [[nodiscard]] ValueId turned_in_part(Call& call, ValueId x, bool is_query) const {
    if (turning() == 0 || (is_query && call.lowering().keras_hub_step)) return x;
    graph::Builder& b = call.builder();
    const Rotary rotary{inverse_frequencies(rotary_max_wavelength, turning())};
    const ValueId first = turned(call, features(b, x, 0, turning()), rotary);
    if (turning() == size()) return first;
    return b.apply(graph::Concat{3}, {first, features(b, x, turning(), size())});
  }

  Positive num_heads, hidden_dim, max_sequence_length = 512;
  Number rotary_percentage = 0.25, rotary_max_wavelength = 10000;
  Projection packed_;
};

/// Attention and feed-forward network have the same input, and both results are added to it.
class GPTNeoXDecoder final : public PlainBlock {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("dropout", dropout);
    f("rotary_percentage", rotary_percentage);
    f("rotary_max_wavelength", rotary_max_wavelength);
    f("max_sequence_length", max_sequence_length);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("decoder_sequence_shape", decoder_sequence_shape);
  }
  [[nodiscard]] bool supports_masking() const override { return true; }

  void build(Weights&, Call& call) override {
    const std::int64_t hidden_dim = width(call);
    if (!decoder_sequence_shape) decoder_sequence_shape = call.shape("decoder_sequence");
    attention_ = &make("GPTNeoXAttention", "self_attention", "_self_attention_layer",
                       {{"num_heads", num_heads.value},
                        {"hidden_dim", hidden_dim},
                        {"dropout", dropout.value},
                        {"rotary_percentage", rotary_percentage.value},
                        {"rotary_max_wavelength", rotary_max_wavelength.value},
                        {"max_sequence_length", max_sequence_length.value},
                        {"kernel_initializer", kernel_initializer.json},
                        {"bias_initializer", bias_initializer.json}});
    attention_norm_ = &make_norm("self_attention_layer_norm", "_self_attention_layer_norm");
    intermediate_dense_ = &make_dense("feedforward_intermediate_dense", "_feedforward_intermediate_dense",
                                      intermediate_dim, activation.json);
    output_dense_ = &make_dense("feedforward_output_dense", "_feedforward_output_dense", hidden_dim, "linear");
    feed_forward_norm_ = &make_norm("feedforward_layer_norm", "_feedforward_layer_norm");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = sequence(call);
    const ArgDict how = attending(call, in);
    const TensorPtr attended = apply(call, *attention_, {apply(call, *attention_norm_, {in})}, how);
    const TensorPtr fed =
        apply(call, *output_dense_, {apply(call, *intermediate_dense_, {apply(call, *feed_forward_norm_, {in})})});
    return sum(call, sum(call, fed, attended), in);
  }

 private:
  Positive num_heads, max_sequence_length = 512;
  Number dropout, rotary_percentage = 0.25, rotary_max_wavelength = 10000;
  Activation activation = *Activation::named("relu");
  std::optional<Shape> decoder_sequence_shape;
};

constexpr std::array kKerasHubGPTNeoXClasses = {
    ClassInfo{.name = "GPTNeoXAttention",
              .make = make_layer<GPTNeoXAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gpt_neo_x.gpt_neo_x_attention",
              .role = Role::attention,
              .symbols = "query_key_value/kernel: d_model h -; query_key_value/bias: h -;"
                         " attention_output/kernel: d_model d_model; attention_output/bias: d_model"},
    ClassInfo{.name = "GPTNeoXDecoder",
              .make = make_layer<GPTNeoXDecoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gpt_neo_x.gpt_neo_x_decoder",
              .role = Role::transformer},
};

}  // namespace

Family keras_hub_gpt_neo_x_classes() { return kKerasHubGPTNeoXClasses; }

}  // namespace attn::keras
