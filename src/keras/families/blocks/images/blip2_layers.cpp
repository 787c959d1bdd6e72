// Letters: B batch, Q query tokens, P patches, T tokens, D width.
#include "families/blocks/images/blip2_layers.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "classes/decoding.h"
#include "classes/ops/expression.h"
#include "families/blocks/images/vision_blocks.h"
#include "model/assembled_model.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// Returns the two tensors of the list that a layer of the Q-Former reads: (B,Q,D) and the rows that these attend to.
std::vector<TensorPtr> pair_of(Call& call) {
  std::vector<TensorPtr> given = call.tensors("inputs");
  if (given.size() != 2) throw bad_input("expected two inputs, got {}", given.size());
  return given;
}

/// norm(x + attention(x, rows)).
class QFormerAttention final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("kv_dim", kv_dim);
    f.required("layer_norm_epsilon", layer_norm_epsilon);
    f.required("dropout", dropout);
  }
  [[nodiscard]] bool takes_list() const override { return true; }

  void build(Weights&, Call&) override {
    const std::int64_t size = hidden_dim / num_heads;
    attention_ = &make("MultiHeadAttention", "attention", "attention",
                       {{"num_heads", num_heads.value}, {"key_dim", size}, {"value_dim", size}});
    norm_ = &make("LayerNormalization", "layer_norm", "layer_norm", {{"epsilon", layer_norm_epsilon.value}});
    dropout_ = &make("Dropout", "dropout", "dropout_layer", {{"rate", dropout.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const std::vector<TensorPtr> given = pair_of(call);
    const TensorPtr read = apply(call, *attention_, {given[0], given[1], given[1]});
    return apply(call, *norm_, {sum(call, given[0], apply(call, *dropout_, {read}))});
  }

 private:
  Positive num_heads, hidden_dim, kv_dim;
  Number layer_norm_epsilon, dropout;
  Layer* attention_ = nullptr;
  Layer* norm_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// A block of the Q-Former, which may also attend to the patches of an image.
class QFormerLayer final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("has_cross_attention", has_cross_attention);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("intermediate_dim", intermediate_dim);
    f.required("vision_dim", vision_dim);
    f.required("layer_norm_epsilon", layer_norm_epsilon);
    f.required("dropout", dropout);
  }
  [[nodiscard]] bool takes_list() const override { return true; }

  void build(Weights&, Call&) override {
    self_attention_ = &make_attention("self_attention", hidden_dim);
    if (has_cross_attention) cross_attention_ = &make_attention("cross_attention", vision_dim);
    intermediate_dense_ = &make("Dense", "intermediate_dense", "intermediate_dense",
                                {{"units", intermediate_dim.value}, {"activation", "gelu"}});
    output_dense_ = &make("Dense", "output_dense", "output_dense", {{"units", hidden_dim.value}});
    output_norm_ =
        &make("LayerNormalization", "output_layer_norm", "output_layer_norm", {{"epsilon", layer_norm_epsilon.value}});
    output_dropout_ = &make("Dropout", "output_dropout", "output_dropout", {{"rate", dropout.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const std::vector<TensorPtr> given = pair_of(call);
    TensorPtr x = apply(call, *self_attention_, {Arg(ArgList{given[0], given[0]})});
    if (cross_attention_ != nullptr) x = apply(call, *cross_attention_, {Arg(ArgList{x, given[1]})});
    const TensorPtr inner = apply(call, *output_dense_, {apply(call, *intermediate_dense_, {x})});
    return apply(call, *output_norm_, {sum(call, x, apply(call, *output_dropout_, {inner}))});
  }

 private:
  Layer& make_attention(const char* called, std::int64_t read_dim) {
    return make("QFormerAttention", called, called,
                {{"num_heads", num_heads.value},
                 {"hidden_dim", hidden_dim.value},
                 {"kv_dim", read_dim},
                 {"layer_norm_epsilon", layer_norm_epsilon.value},
                 {"dropout", dropout.value}});
  }

  bool has_cross_attention = false;
  Positive num_heads, hidden_dim, intermediate_dim, vision_dim;
  Number layer_norm_epsilon, dropout;
  Layer* self_attention_ = nullptr;
  Layer* cross_attention_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
  Layer* output_norm_ = nullptr;
  Layer* output_dropout_ = nullptr;
};

/// (B,P,D) → (B,Q,D): the trained queries, for each entry of the batch.
class QueryTokens final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("num_query_tokens", num_query_tokens);
    f.required("hidden_dim", hidden_dim);
  }
  void build(Weights& w, Call&) override {
    w.add("query_tokens", {1, num_query_tokens, hidden_dim}, Initializer("zeros"));
  }
  Arg call(Call& call) override {
    const Dim batch = call.shape("inputs")[0];
    return Call::result(
        call.builder().apply(graph::Broadcast{{batch, num_query_tokens, hidden_dim}}, {call.weight(0)}));
  }

 private:
  Positive num_query_tokens, hidden_dim;
};

/// (B,T) → (B,T,D): the embeddings of tokens and positions. With `visual_positions`, the first Q positions are those of
/// an image, and their embeddings (1,Q,D) are a second result.
class OptEmbeddings final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("hidden_dim", hidden_dim);
    f.required("max_sequence_length", max_sequence_length);
    f.required("position_offset", position_offset);
    f.required("initializer_range", initializer_range);
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 2> kNames = {"token_ids", "visual_positions"};
    return kNames;
  }
  /// Positions behind those of an image are fewer.
  [[nodiscard]] std::optional<std::int64_t> most_positions() const override {
    return max_sequence_length + kOptPositionOffset - position_offset;
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("token_ids");
    std::vector<Shape> out{{in[0], in[1], hidden_dim}};
    if (const Dim visual = visual_positions(call); visual > 0) out.push_back({in[0], visual, hidden_dim});
    return out;
  }

  void build(Weights&, Call&) override {
    const Json initializer = normal_initializer("TruncatedNormal", initializer_range);
    tokens_ = &make("ReversibleEmbedding", "token_embedding", "token_embedding",
                    {{"input_dim", vocabulary_size.value},
                     {"output_dim", hidden_dim.value},
                     {"tie_weights", true},
                     {"embeddings_initializer", initializer}});
    positions_ = &make("Embedding", "position_embedding", "position_embedding",
                       {{"input_dim", max_sequence_length + kOptPositionOffset},
                        {"output_dim", hidden_dim.value},
                        {"embeddings_initializer", initializer}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr ids = call.tensor("token_ids");
    const TensorPtr tokens = apply(call, *tokens_, {ids});
    const Dim visual = visual_positions(call);
    const TensorPtr texts = sum(call, tokens, embedded(call, text_positions(call, call.shape(ids)[1], visual)));
    if (visual == 0) return texts;
    const ValueId places =
        call.builder().apply(graph::Iota{{1, visual}, DType::int32, 1, static_cast<double>(kOptPositionOffset)}, {});
    return ArgList{texts, embedded(call, places)};
  }

 private:
  static Dim visual_positions(const Call& call) {
    return call.has("visual_positions") ? *call.arg("visual_positions").as<std::int64_t>() : 0;
  }
  TensorPtr embedded(Call& call, ValueId positions) { return apply(call, *positions_, {Call::result(positions)}); }

  /// Returns the positions (1,T) of the tokens in the table.
  [[nodiscard]] ValueId text_positions(Call& call, Dim length, Dim visual) const {
    Builder& b = call.builder();
    const Decoding* decoding = call.lowering().decoding;
    if (decoding == nullptr)
      return b.apply(graph::Iota{{1, call.lowering().symbolic() ? 1 : length},
                                 DType::int32,
                                 1,
                                 static_cast<double>(position_offset.value)},
                     {});
    ValueId all = decoding->positions;  // these count the positions of an image
    if (visual > 0) {
      graph::Slice behind;
      behind.ranges = {{}, {visual, std::nullopt, 1}};
      all = b.apply(behind, {all});
    }
    return Expression(b, all) + static_cast<double>(kOptPositionOffset);
  }

  Positive vocabulary_size, hidden_dim, max_sequence_length, position_offset;
  Number initializer_range;
  Layer* tokens_ = nullptr;
  Layer* positions_ = nullptr;
};

}  // namespace

LayerPtr make_qformer_attention() { return std::make_unique<QFormerAttention>(); }
LayerPtr make_qformer_layer() { return std::make_unique<QFormerLayer>(); }
LayerPtr make_query_tokens() { return std::make_unique<QueryTokens>(); }
LayerPtr make_opt_embeddings() { return std::make_unique<OptEmbeddings>(); }

}  // namespace attn::keras
