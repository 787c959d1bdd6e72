// XLNet (keras_hub/src/models/xlnet).
//
// Letters: see head_attention.h; L = 2·T relative positions.
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "classes/rounding.h"
#include "families/model_family.h"
#include "model/backbones/text.h"

namespace attn::keras::xlnet {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kEncoderModule = "keras_hub.src.models.xlnet.xlnet_encoder";

/// Returns a value whose shape is read for summaries, and whose elements are not read.
TensorPtr placeholder(Call& call, const Shape& shape, DType dtype) {
  return Call::result(call.builder().apply(graph::Fill{shape, dtype, 0.0}, {}));
}

/// The embeddings of tokens (B,T,D), and the encodings of relative positions (B,L,D).
class ContentAndQueryEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("hidden_dim", hidden_dim);
    f.required("dropout", dropout);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"token_id_input"};
    return kNames;
  }
  void build(Weights&, Call&) override {
    word_embed_ = &make("Embedding", "word_embedding", "word_embed",
                        {{"input_dim", vocabulary_size.value}, {"output_dim", hidden_dim.value}});
    dropout_layer_ = &make("Dropout", "dropout", "dropout_layer", {{"rate", dropout.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr tokens = call.tensor("token_id_input");
    const Shape in = call.shape(tokens);
    if (in.rank() != 2) throw bad_input("expected tokens (batch, length), got {}", in.str());
    const TensorPtr rows = apply(call, *dropout_layer_, {apply(call, *word_embed_, {tokens})});
    if (call.lowering().symbolic())
      return ArgList{rows, placeholder(call, {in[0], 1, hidden_dim}, call.compute_dtype())};
    Builder& b = call.builder();
    // KerasHub reinterprets the encodings (L,B,D) as (B,L,D) without a transposition, so the entries of a batch have
    // different encodings.
    const Shape repeated{2 * in[1], in[0], hidden_dim};
    const ValueId encodings = b.apply(graph::Broadcast{repeated}, {b.constant(positions(call, in[1]))});
    const TensorPtr dropped = apply(call, *dropout_layer_, {Call::result(encodings)});
    return ArgList{rows, Call::result(b.reshape(dropped->id, {in[0], 2 * in[1], hidden_dim}))};
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("token_id_input");
    return std::vector{Shape{in[0], in[1], hidden_dim}, Shape{in[0], 1, hidden_dim}};
  }

 private:
  /// (L,1,D): sines, then cosines of the positions T, T − 1, …, 1 − T, in the compute dtype.
  [[nodiscard]] Tensor positions(Call& call, Dim length) const {
    const Rounding rounded(call.compute_dtype());
    const Dim width = hidden_dim, half = width / 2;
    if (width % 2 != 0) throw bad_input("expected an even number of features, got {}", width);
    Tensor out = table(call.compute_dtype(), {2 * length, 1, width}, "encodings of positions");
    for (Dim i = 0; i < half; ++i) {
      const double exponent = rounded(rounded(static_cast<double>(2 * i)) / rounded(static_cast<double>(width)));
      const double frequency = rounded(1.0 / rounded(std::pow(rounded(10000.0), exponent)));
      for (Dim row = 0; row < 2 * length; ++row) {
        const double angle = rounded(rounded(static_cast<double>(length - row)) * frequency);
        out.set(row * width + i, rounded(std::sin(angle)));
        out.set(row * width + half + i, rounded(std::cos(angle)));
      }
    }
    return out;
  }

  Positive vocabulary_size, hidden_dim;
  Number dropout;
  Layer* word_embed_ = nullptr;
  Layer* dropout_layer_ = nullptr;
};

/// Computes the masks of contents (B,T,T), which see themselves, and of queries (B,1,T): 1 where a key is visible.
class XLNetAttentionMaskLayer final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("kernel_initializer_range", kernel_initializer_range);
  }
  void build(Weights& w, Call&) override {
    graph::Initializer initializer = Initializer("TruncatedNormal").value;
    initializer.stddev = kernel_initializer_range;
    w.add("mask_emb", {1, 1, hidden_dim}, initializer);  // no call of KerasHub's backbone reads it
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId given = call.tensor("inputs")->id;
    const Shape in = b.shape(given);
    if (in.rank() != 2) throw bad_input("expected a mask (batch, length), got {}", in.str());
    if (call.lowering().symbolic())
      return ArgList{placeholder(call, in, DType::float32), placeholder(call, in, DType::float32)};
    // KerasHub reinterprets the mask (B,T) as (T,B) without a transposition.
    const Expression padding = 1.0 - Expression(b, b.transpose(b.reshape(given, {in[1], in[0]}), {1, 0}));
    const Expression hidden(b, b.expand_dims(padding, 1));  // (B,1,T)
    const Expression query(b, b.apply(graph::Iota{{1, in[1], 1}, DType::int32, 1}, {}));
    const Expression key(b, b.apply(graph::Iota{{1, 1, in[1]}, DType::int32, 2}, {}));
    const auto visible = [](const Expression& x) { return 1.0 - (x > 0.0).cast(DType::float32); };
    return ArgList{Call::result(visible(hidden - (query == key).cast(hidden.dtype()))), Call::result(visible(hidden))};
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{call.shape("inputs"), call.shape("inputs")};
  }

 private:
  Positive hidden_dim;
  Number kernel_initializer_range;
};

/// (B,T) → (B,T,T): whether two positions are in different segments.
class XLNetSegmentMatrixLayer final : public Layer {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"segment_ids"};
    return kNames;
  }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId ids = call.tensor("segment_ids")->id;
    if (b.shape(ids).rank() != 2) throw bad_input("expected segments (batch, length), got {}", b.shape(ids).str());
    if (call.lowering().symbolic()) return placeholder(call, b.shape(ids), DType::boolean);
    return Call::result(b.binary(graph::BinaryFn::not_equal, b.expand_dims(ids, 2), b.expand_dims(ids, 1)));
  }
};

/// The scores of a query are those of contents, of relative positions and of whether segments differ, each with a bias
/// of the query (Yang et al., "XLNet: Generalized Autoregressive Pretraining for Language Understanding", 2019).
class TwoStreamRelativeAttention final : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("key_dim", key_dim);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 8> kNames = {
        "content_stream", "content_attention_bias", "positional_attention_bias", "relative_position_encoding",
        "segment_matrix", "segment_encoding",       "segment_attention_bias",    "content_attention_mask"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, key_dim}; }

  void build(Weights& w, Call& call) override {
    const Dim width = call.shape("content_stream").back();
    const auto projection = [&](const char* called, const char* attribute) {
      return declare(w, called, attribute, {width}, {num_heads, key_dim}, false);
    };
    query_ = projection("query", "query_dense");
    key_ = projection("key", "key_dense");
    value_ = projection("value", "value_dense");
    w.scope("attention_output", "output_dense", [&] {
      output_kernel_ = w.add("kernel", {width, num_heads, key_dim}, kernel_initializer);
    });
    encoding_ = projection("encoding", "_encoding_dense");
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("content_stream")->id;
    const Shape in = b.shape(x);
    const Expression query(b, project(call, x, query_));
    const ValueId key = project(call, x, key_), value = project(call, x, value_);
    const auto biased = [&](const char* argument) { return query + Expression(b, call.tensor(argument)->id); };
    AttentionOptions how;
    how.scale = 1.0 / std::sqrt(static_cast<double>(key_dim.value));
    how.path = graph::AttentionPath::explicit_;
    how.scores = call.lowering().want_scores;
    if (!call.lowering().symbolic()) {
      how.masks = {b.expand_dims(b.cast(call.tensor("content_attention_mask")->id, DType::boolean), 1)};
      const Expression positions = of_positions(call, biased("positional_attention_bias"));
      how.bias = (positions + of_segments(call, biased("segment_attention_bias"))) * how.scale;
    }
    const Attended attended = keras::attend(call, biased("content_attention_bias"), key, value, how);
    const Dim inner = num_heads * key_dim;
    const ValueId joined = b.reshape(attended.context, {in[0], in[1], inner});
    const ValueId kernel = b.reshape(call.weight(output_kernel_), {in[2], inner});
    const ValueId out = b.apply(graph::MatMul{false, true}, {joined, kernel});
    return results(call, out, {attended, {}}, std::nullopt);
  }

 private:
  /// Returns the position scores (B,N,T,T): query t and key s have the score in row T − t + s of the relative
  /// positions.
  [[nodiscard]] Expression of_positions(Call& call, const Expression& query) const {
    Builder& b = call.builder();
    const ValueId encodings = project(call, call.tensor("relative_position_encoding")->id, encoding_);  // (B,L,N,H)
    const auto by_head = [&](ValueId y) { return b.transpose(y, {0, 2, 1, 3}); };
    const ValueId scores = b.apply(graph::MatMul{false, true}, {by_head(query), by_head(encodings)});
    const Shape shape = b.shape(scores);  // (B,N,T,L)
    const Dim length = shape[2], rows = shape[3];
    const auto make = [&] {
      Tensor at = table(DType::int32, {length, length}, "the distances of positions");
      for (Dim t = 0; t < length; ++t)
        for (Dim s = 0; s < length; ++s) at.set(t * length + s, static_cast<double>(t * rows + length - t + s));
      return std::vector{b.constant(std::move(at))};
    };
    const ValueId pairs = call.lowering().common(fmt::format("XLNet's pairs of {} positions", length), make)[0];
    return {b, b.apply(graph::Gather{2}, {b.reshape(scores, {shape[0], shape[1], length * rows}), pairs})};
  }

  /// Returns the segment scores (B,N,T,T): one of two scores of a query, by whether the segments differ.
  [[nodiscard]] static Expression of_segments(Call& call, const Expression& query) {
    Builder& b = call.builder();
    const ValueId encoding = b.transpose(call.tensor("segment_encoding")->id, {1, 0, 2});  // (2,N,H) → (N,2,H)
    const ValueId scores = b.apply(graph::MatMul{false, true}, {b.transpose(query, {0, 2, 1, 3}), encoding});
    const auto segment = [&](std::int64_t which) {
      graph::Slice one;
      one.ranges = {{}, {}, {}, {which, which + 1, 1}};
      return Expression(b, b.apply(one, {scores}));
    };
    const Expression differ(b, b.expand_dims(call.tensor("segment_matrix")->id, 1));
    return where(differ, segment(1), segment(0));
  }

  Positive num_heads, key_dim;
  Projection encoding_;
  int output_kernel_ = 0;
};

/// The stream of contents; KerasHub's backbone has no other.
class XLNetEncoder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("head_dim", head_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer_range", kernel_initializer_range);
    f("bias_initializer", bias_initializer);
  }
  void check(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 5> kNames = {"output_content", "attn_mask_content", "attn_mask_query",
                                                               "pos_emb", "seg_mat"};
    return kNames;
  }

  void build(Weights& w, Call&) override {
    const Json kernels = normal_initializer("TruncatedNormal", kernel_initializer_range);
    for (const char* bias : {"content_attention_bias", "positional_attention_bias", "segment_attention_bias"})
      w.add(bias, {num_heads, head_dim}, bias_initializer);
    graph::Initializer of_segments = Initializer("TruncatedNormal").value;
    of_segments.stddev = kernel_initializer_range;
    w.add("segment_encoding", {2, num_heads, head_dim}, of_segments);
    const auto norm = [&](const char* called, const char* attribute) {
      return &make("LayerNormalization", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
    };
    const auto dropping = [&](const char* called, const char* attribute) {
      return &make("Dropout", called, attribute, {{"rate", dropout.value}});
    };
    const auto dense = [&](const char* called, std::int64_t units) {
      return &make("Dense", called, called, {{"units", units}, {"kernel_initializer", kernels}});
    };
    attention_ = &make("TwoStreamRelativeAttention", "rel_attn", "relative_attention",
                       {{"num_heads", num_heads.value},
                        {"key_dim", head_dim.value},
                        {"kernel_initializer", kernels},
                        {"bias_initializer", bias_initializer.json}});
    attention_norm_ = norm("layer_norm_rel_attn", "layer_norm");
    attention_dropout_ = dropping("dropout", "dropout_attn");
    feed_forward_norm_ = norm("layer_norm_ff", "layer_norm_ff");
    intermediate_dense_ = dense("feedforward_intermediate_dense", intermediate_dim);
    output_dense_ = dense("feedforward_output_dense", hidden_dim);
    feed_forward_dropout_ = dropping("dropout_1", "dropout_ff");
  }

  /// The second result belongs to the stream of queries.
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("output_content");
    const auto weight = [&](int index) { return Call::result(call.weight(index)); };
    TensorPtr x = apply(call, *attention_, {in},
                        {{"content_attention_bias", weight(0)},
                         {"positional_attention_bias", weight(1)},
                         {"segment_attention_bias", weight(2)},
                         {"segment_encoding", weight(3)},
                         {"relative_position_encoding", call.tensor("pos_emb")},
                         {"segment_matrix", call.tensor("seg_mat")},
                         {"content_attention_mask", call.tensor("attn_mask_content")}});
    x = apply(call, *attention_norm_, {sum(call, apply(call, *attention_dropout_, {x}), in)});
    const TensorPtr wide = apply(call, *intermediate_dense_, {x});
    const TensorPtr active = Call::result(activation.apply(call.builder(), wide->id));
    const TensorPtr fed = apply(call, *output_dense_, {apply(call, *feed_forward_dropout_, {active})});
    x = apply(call, *feed_forward_norm_, {sum(call, apply(call, *feed_forward_dropout_, {fed}), x)});
    if (!call.lowering().symbolic()) return ArgList{x, Arg()};
    return ArgList{x, placeholder(call, call.shape(in), call.compute_dtype())};
  }

 private:
  Positive num_heads, hidden_dim, head_dim, intermediate_dim;
  Number dropout{0.0}, layer_norm_epsilon = 1e-12, kernel_initializer_range = 0.02;
  Activation activation = *Activation::named("gelu");
  Initializer bias_initializer{"zeros"};
  Layer* attention_ = nullptr;
  Layer* attention_norm_ = nullptr;
  Layer* attention_dropout_ = nullptr;
  Layer* feed_forward_norm_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
  Layer* feed_forward_dropout_ = nullptr;
};

class XLNetBackbone : public TextBackbone {
 public:
  XLNetBackbone() { dropout = Number(0.0); }
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f("dropout", dropout);
    f("activation", activation);
    f("kernel_initializer_range", kernel_initializer_range);
    f("bias_initializer", bias_initializer);
  }

 protected:
  void check_fields(const Ref& config) override {
    TextBackbone::check_fields(config);
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
  }
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask"),
                    segment_ids = tokens("segment_ids");
    TensorRef x =
        call("ContentAndQueryEmbedding", "content_query_embedding",
             {{"vocabulary_size", vocabulary_size.value}, {"hidden_dim", hidden_dim.value}, {"dropout", dropout.value}},
             {token_ids});
    const TensorRef positions{x.layer, x.node, 1};
    const TensorRef content =
        call("XLNetAttentionMaskLayer", "encoder_block_attn_mask_layer",
             {{"hidden_dim", hidden_dim.value}, {"kernel_initializer_range", kernel_initializer_range.value}},
             {padding_mask});
    const TensorRef query{content.layer, content.node, 1};
    const TensorRef segments =
        call("XLNetSegmentMatrixLayer", "encoder_block_seg_mat_layer", Json::object(), {segment_ids});
    const Json block = {{"num_heads", num_heads.value},
                        {"hidden_dim", hidden_dim.value},
                        {"head_dim", hidden_dim / num_heads},
                        {"intermediate_dim", intermediate_dim.value},
                        {"dropout", dropout.value},
                        {"activation", activation.json},
                        {"layer_norm_epsilon", 1e-12},
                        {"kernel_initializer_range", kernel_initializer_range.value},
                        {"bias_initializer", bias_initializer.json}};
    for (std::int64_t i = 0; i < num_layers; ++i)
      x = call("XLNetEncoder", fmt::format("xlnet_encoder_{}", i), block, {},
               {{"output_content", x},
                {"attn_mask_content", content},
                {"attn_mask_query", query},
                {"pos_emb", positions},
                {"seg_mat", segments}});
    set_inputs({token_ids, padding_mask, segment_ids});
    output_struct = dropped_out("dropout", x);
  }

 private:
  Positive num_heads;
  Activation activation = *Activation::named("gelu");
  Number kernel_initializer_range = 0.02;
  Opaque bias_initializer{"zeros"};  // KerasHub writes the value as it was given; the blocks read it
};

constexpr std::array kLayers = {
    ClassInfo{.name = "ContentAndQueryEmbedding",
              .make = make_layer<ContentAndQueryEmbedding>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.xlnet.xlnet_content_and_query_embedding",
              .role = Role::tokens},
    ClassInfo{.name = "XLNetAttentionMaskLayer",
              .make = make_layer<XLNetAttentionMaskLayer>,
              .since = kAnyKeras,
              .module = kEncoderModule,
              .symbols = "mask_emb: - - d_model"},
    ClassInfo{.name = "XLNetSegmentMatrixLayer",
              .make = make_layer<XLNetSegmentMatrixLayer>,
              .since = kAnyKeras,
              .module = kEncoderModule,
              .no_params = "it compares the segments of positions"},
    ClassInfo{.name = "TwoStreamRelativeAttention",
              .make = make_layer<TwoStreamRelativeAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.xlnet.relative_attention",
              .role = Role::attention,
              .symbols = "kernel: d_model h d_head"},
    ClassInfo{.name = "XLNetEncoder",
              .make = make_layer<XLNetEncoder>,
              .since = kAnyKeras,
              .module = kEncoderModule,
              .role = Role::transformer,
              .symbols = "attention_bias: h d_head; segment_encoding: - h d_head"},
};

constexpr std::array kModels = {
    model_record<XLNetBackbone>("XLNetBackbone", "keras_hub.src.models.xlnet.xlnet_backbone"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "xlnet", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::xlnet
