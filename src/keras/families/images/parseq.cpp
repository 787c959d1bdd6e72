// PARSeq, which reads texts in images (keras_hub/src/models/parseq).
//
// Letters: B batch, T tokens, P patches, D features.
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/attention/padding_mask.h"
#include "classes/ops/expression.h"
#include "classes/reading.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"
#include "model/tasks/task.h"

namespace attn::keras::parseq {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.parseq.parseq_decoder";

/// The constructor arguments that a block and the decoder have in common.
struct Options {
  Positive hidden_dim, num_heads, mlp_dim;
  Number dropout_rate = 0.1, attention_dropout = 0.1, layer_norm_epsilon = 1e-5;

  void fields(Fields& f) {
    f.required("hidden_dim", hidden_dim);
    f.required("num_heads", num_heads);
    f.required("mlp_dim", mlp_dim);
    f("dropout_rate", dropout_rate);
    f("attention_dropout", attention_dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
  }
  void check(const Ref& config, const char* heads) const {
    check_heads(config, heads, hidden_dim, num_heads);
    check_rate(config, "dropout_rate", dropout_rate);
    check_rate(config, "attention_dropout", attention_dropout);
  }
};

/// Two streams (B,T,D): the queries attend to the contents, and so do the contents unless this is the last block. Both
/// attend to the patches `memory` (B,P,D).
class PARSeqDecoderBlock final : public Composite {
 public:
  void fields(Fields& f) override {
    if (f.reading()) f.take("key_dim");  // derived from the width and the number of heads
    options.fields(f);
  }
  void check(const Ref& config) override { options.check(config, "num_heads"); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 5> kNames = {"query", "content", "memory", "attention_mask",
                                                               "update_content"};
    return kNames;
  }

  void build(Weights&, Call&) override {
    const auto norm = [&](const char* called, const char* attribute) {
      return &make("LayerNormalization", called, attribute, {{"epsilon", options.layer_norm_epsilon.value}});
    };
    const auto attention = [&](const char* called) {
      return &make("CachedMultiHeadAttention", called, called,
                   {{"num_heads", options.num_heads.value},
                    {"key_dim", options.hidden_dim / options.num_heads},
                    {"dropout", options.attention_dropout.value}});
    };
    query_norm_ = norm("query_layer_norm", "query_layer_norm");
    content_norm_ = norm("content_layer_norm", "content_layer_norm");
    self_attention_ = attention("self_attention");
    cross_attention_ = attention("cross_attention");
    norm_1_ = norm("ln_1", "layer_norm_1");
    norm_2_ = norm("ln_2", "layer_norm_2");
    mlp_ = &make("MLP", "mlp", "mlp",
                 {{"hidden_dim", options.hidden_dim.value},
                  {"mlp_dim", options.mlp_dim.value},
                  {"dropout_rate", options.dropout_rate.value}});
    dropout_ = &make("Dropout", "decoder_block_dropout", "dropout", {{"rate", options.dropout_rate.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr query = call.tensor("query"), content = call.tensor("content"), memory = call.tensor("memory");
    const TensorPtr contents = apply(call, *content_norm_, {content});
    const TensorPtr out = streamed(call, query, apply(call, *query_norm_, {query}), contents, memory);
    if (!call.flag("update_content", true)) return ArgList{out, content};
    return ArgList{out, streamed(call, content, contents, contents, memory)};
  }

 private:
  TensorPtr streamed(Call& call, const TensorPtr& x, const TensorPtr& normal, const TensorPtr& contents,
                     const TensorPtr& memory) {
    ArgDict how{{"use_causal_mask", true}};
    if (call.has("attention_mask")) how.emplace_back("attention_mask", call.arg("attention_mask"));
    const TensorPtr seen = apply(call, *self_attention_, {normal, contents}, how);
    TensorPtr y = sum(call, x, apply(call, *dropout_, {seen}));
    const TensorPtr shown = apply(call, *cross_attention_, {apply(call, *norm_1_, {y}), memory});
    y = sum(call, y, apply(call, *dropout_, {shown}));
    return sum(call, y, apply(call, *mlp_, {apply(call, *norm_2_, {y})}));
  }

  Options options;
  Layer* query_norm_ = nullptr;
  Layer* content_norm_ = nullptr;
  Layer* self_attention_ = nullptr;
  Layer* cross_attention_ = nullptr;
  Layer* norm_1_ = nullptr;
  Layer* norm_2_ = nullptr;
  Layer* mlp_ = nullptr;
  Layer* dropout_ = nullptr;
};

/// Tokens (B,T) and patches (B,P,D) → (B,T,D). A query is the position of a token, a content is a token and the
/// position before it.
class PARSeqDecoder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("max_label_length", max_label_length);
    f.required("num_layers", num_layers);
    options.fields(f);
  }
  void check(const Ref& config) override {
    check_blocks(config, "num_layers", num_layers);
    options.check(config, "num_heads");
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 3> kNames = {"token_ids", "memory", "padding_mask"};
    return kNames;
  }
  [[nodiscard]] std::optional<std::int64_t> most_positions() const override { return max_label_length + 1; }
  std::optional<std::vector<Shape>> symbolic_shapes(Call&) override {
    return {{{kUnknown, kUnknown, options.hidden_dim}}};
  }

  void build(Weights& w, Call&) override {
    w.add("pos_query_embeddings", {1, max_label_length + 1, options.hidden_dim}, Initializer("glorot_uniform"));
    tokens_ = &make("Embedding", "token_embedding", "token_embedding",
                    {{"input_dim", vocabulary_size.value}, {"output_dim", options.hidden_dim.value}});
    dropout_ = &make("Dropout", "decoder_dropout", "dropout", {{"rate", options.dropout_rate.value}});
    const Json block = arguments_of(options);
    for (std::int64_t i = 0; i < num_layers; ++i)
      blocks_.push_back(&make("PARSeqDecoderBlock", fmt::format("decoder_layer_{}", i),
                              "decoder_layers/par_seq_decoder_block" + (i == 0 ? "" : fmt::format("_{}", i)), block));
    norm_ = &make("LayerNormalization", "layer_norm", "layer_norm", {{"epsilon", options.layer_norm_epsilon.value}});
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const TensorPtr ids = call.tensor("token_ids"), memory = call.tensor("memory");
    const Shape shape = call.shape(ids);
    const Expression embedded =
        Expression(b, apply(call, *tokens_, {ids})->id) * std::sqrt(static_cast<double>(options.hidden_dim));
    TensorPtr content = Call::result(embedded), query = content;
    Arg mask;
    if (!call.lowering().symbolic()) {
      if (shape[1] < 1 || shape[1] > max_label_length + 1)
        throw bad_input("expected 1 to {} tokens, got {}", max_label_length + 1, shape[1]);
      const ValueId positions = rows_between(b, call.weight(0), 0, shape[1]);
      const ValueId none = b.apply(graph::Fill{{1, 1, options.hidden_dim}, b.dtype(positions), 0.0}, {});
      const ValueId earlier = b.apply(graph::Concat{1}, {none, rows_between(b, positions, 0, shape[1] - 1)});
      content = Call::result(embedded + Expression(b, earlier));
      query = Call::result(b.apply(graph::Broadcast{{shape[0], shape[1], options.hidden_dim}}, {positions}));
      if (call.has("padding_mask"))
        mask = Call::result(b.expand_dims(b.cast(call.tensor("padding_mask")->id, DType::int32), 1));
    }
    content = apply(call, *dropout_, {content});
    query = apply(call, *dropout_, {query});
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      ArgDict arguments{{"content", content}, {"memory", memory}, {"update_content", i + 1 < blocks_.size()}};
      if (!mask.is_none()) arguments.emplace_back("attention_mask", mask);
      const auto streams = tensors_of(call.lowering().apply(*blocks_[i], ArgList{query}, arguments));
      query = streams[0];
      content = streams[1];
    }
    return apply(call, *norm_, {query});
  }

 private:
  Positive vocabulary_size, max_label_length, num_layers;
  Options options;
  Layer* tokens_ = nullptr;
  Layer* dropout_ = nullptr;
  std::vector<Layer*> blocks_;
  Layer* norm_ = nullptr;
};

class PARSeqBackbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("image_encoder", image_encoder_);
    f.required("vocabulary_size", vocabulary_size);
    f.required("max_label_length", max_label_length);
    f.required("decoder_hidden_dim", options.hidden_dim);
    f.required("num_decoder_layers", num_decoder_layers);
    f.required("num_decoder_heads", options.num_heads);
    f.required("decoder_mlp_dim", options.mlp_dim);
    f("dropout_rate", options.dropout_rate);
    f("attention_dropout", options.attention_dropout);
  }

 protected:
  void check_fields(const Ref& config) override {
    if (image_encoder_ == nullptr || image_encoder_->class_name() != "ViTBackbone")
      config["image_encoder"].fail("expected a ViTBackbone");
    if (vocabulary_size < 3) config["vocabulary_size"].fail("expected 3 or more");
    check_blocks(config, "num_decoder_layers", num_decoder_layers);
    options.check(config, "num_decoder_heads");
  }

  void assemble() override {
    auto& encoder = dynamic_cast<Functional&>(*image_encoder_);
    // KerasHub assigns the encoder, the decoder and the head first, which counts for the order of variables.
    borrow(*image_encoder_);
    Json arguments = arguments_of(options);
    arguments["vocabulary_size"] = vocabulary_size.value;
    arguments["max_label_length"] = max_label_length.value;
    arguments["num_layers"] = num_decoder_layers.value;
    Layer& decoder = layer("PARSeqDecoder", "decoder", std::move(arguments));
    Layer& head = layer("Dense", "dense", {{"units", vocabulary_size - 2}});
    Layer& image_input = *encoder.input_layers().front();
    borrow(image_input);
    const TensorRef images{image_input.name, 0, 0};
    const auto tokens = [&](const char* called) { return input(called, {kUnknown, kUnknown}, DType::int32); };
    const TensorRef ids = tokens("token_ids"), mask = tokens("padding_mask");
    const TensorRef memory = call(*image_encoder_, {images});
    const TensorRef rows = call(decoder, {ids, memory}, {{"padding_mask", mask}});
    input_struct = ArgDict{{"images", images}, {"token_ids", ids}, {"padding_mask", mask}};
    output_struct = call(head, {rows});
  }

 private:
  LayerPtr image_encoder_;
  Positive vocabulary_size, max_label_length, num_decoder_layers;
  Options options;
};

/// The backbone's logits. attn does not generate with it.
class PARSeqCausalLM final : public Task {
 public:
  void fields(Fields& f) override {
    f("num_perms", num_perms);
    f("add_forward_perms", add_forward_perms);
    f("add_mirrored_perms", add_mirrored_perms);
    f("seed", seed);
    f("end_token_id", end_token_id);
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "CausalLM"; }
  void assemble() override {
    TensorRef logits = backbone_result();
    logits.node = 1;  // the results of a model count its calls from 1
    output_struct = logits;
  }

 private:
  std::int64_t num_perms = 6, end_token_id = 0;
  bool add_forward_perms = true, add_mirrored_perms = true;
  Opaque seed;
};

constexpr std::array kLayers = {
    layer_record("PARSeqDecoderBlock", make_layer<PARSeqDecoderBlock>, kModule, Role::transformer),
    layer_record("PARSeqDecoder", make_layer<PARSeqDecoder>, kModule, Role::transformer,
                 "pos_query_embeddings: - - d_model"),
};

constexpr std::array kModels = {
    model_record<PARSeqBackbone>("PARSeqBackbone", "keras_hub.src.models.parseq.parseq_backbone"),
    model_record<PARSeqCausalLM>("PARSeqCausalLM", "keras_hub.src.models.parseq.parseq_causal_lm"),
};

constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "PARSeqTokenizer",
                           .kind = tokenizers::TokenizerKind::characters,
                           .start = "[B]",
                           .end = "[E]",
                           .pad = "[P]"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "parseq", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers};
  return kFamily;
}

}  // namespace attn::keras::parseq
