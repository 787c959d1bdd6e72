// DeBERTa V3 (keras_hub/src/models/deberta_v3).
//
// Letters: see head_attention.h; R relative positions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/attention/head_attention.h"
#include "classes/layers/attention/padding_mask.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "classes/training.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/backbones/text.h"
#include "model/tasks/masked_lm.h"
#include "model/tasks/text_classifier.h"

namespace attn::keras::deberta_v3 {
namespace {

using graph::Builder;
using graph::ValueId;

/// Gives a normalized row for each relative position, repeated for each entry of the batch: (B,…) → (B,R,D).
class RelativeEmbedding final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("hidden_dim", hidden_dim);
    f.required("bucket_size", bucket_size);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
  }
  void check(const Ref& config) override {
    if (bucket_size > kMaxSize / 2) config["bucket_size"].fail("the relative positions are too many");
  }
  void build(Weights& w, Call&) override {
    w.add("rel_embedding", {2 * bucket_size, hidden_dim}, kernel_initializer);
    norm_ =
        &make("LayerNormalization", "rel_embeddings_layer_norm", "layer_norm", {{"epsilon", layer_norm_epsilon.value}});
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const ValueId rows = b.expand_dims(call.weight(0), 0);
    const TensorPtr normal = apply(call, *norm_, {Call::result(rows)});
    return Call::result(
        b.apply(graph::Broadcast{{call.shape("inputs")[0], 2 * bucket_size, hidden_dim}}, {normal->id}));
  }

 private:
  Positive hidden_dim, bucket_size;
  Number layer_norm_epsilon = 1e-5;
  Initializer kernel_initializer{"glorot_uniform"};
  Layer* norm_ = nullptr;
};

constexpr std::string_view kDistances = "the distances of positions";

/// Returns the value that `x` repeats along the batch; `x` itself if it is no such repetition.
ValueId unrepeated(Builder& b, ValueId x) {
  const std::vector<graph::Node>& nodes = b.graph().nodes;
  const auto maker = std::find_if(nodes.rbegin(), nodes.rend(), [&](const graph::Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), x) != node.outputs.end();
  });
  if (maker == nodes.rend() || !std::holds_alternative<graph::Broadcast>(maker->op)) return x;
  const ValueId source = maker->inputs[0];
  const Shape from = b.shape(source), to = b.shape(x);
  return from.rank() == 3 && from[0] == 1 && from.slice(1, 3) == to.slice(1, 3) ? source : x;
}

/// The scores are those of the contents, of a content with the relative position of a key, and of a key with that of a
/// content (He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", 2021).
class DisentangledSelfAttention final : public HeadAttention {
 public:
  void fields(Fields& f) override {
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f("max_position_embeddings", max_position_embeddings);
    f("bucket_size", bucket_size);
    f("dropout", dropout);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  void check(const Ref& config) override {
    HeadAttention::check(config);
    if (hidden_dim % num_heads != 0)
      config["num_heads"].fail(
          fmt::format("{} features cannot be divided among {} heads", hidden_dim.value, num_heads.value));
  }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"inputs", "rel_embeddings", "attention_mask",
                                                               "training"};
    return kNames;
  }
  [[nodiscard]] bool supports_masking() const override { return false; }
  [[nodiscard]] std::optional<Heads> heads() const override { return Heads{num_heads, size()}; }

  void build(Weights& w, Call& call) override {
    const Dim width = call.shape("inputs").back();
    const auto projection = [&](const char* called, const char* attribute) {
      return declare(w, called, attribute, {width}, {num_heads, size()}, true);
    };
    query_ = projection("query", "_query_dense");
    key_ = projection("key", "_key_dense");
    value_ = projection("value", "_value_dense");
    output_ = declare(w, "attention_output", "_output_dense", {width}, {hidden_dim}, true);
  }

  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("inputs")->id;
    const ValueId query = project(call, x, query_), key = project(call, x, key_), value = project(call, x, value_);
    AttentionOptions how;
    how.scale = scale();
    how.path = softmax_path(call);
    how.masks = masks(call, std::nullopt);
    if (!call.lowering().symbolic()) how.bias = position_scores(call, query, key);
    const bool drops = keras::drops(call, dropout);
    how.scores = drops || call.lowering().want_scores;
    Attended attended = keras::attend(call, query, key, value, how);
    if (drops) attended.context = context_of_dropped(call, attended.scores, value);
    const Shape in = b.shape(x);
    const ValueId joined = b.reshape(attended.context, {in[0], in[1], hidden_dim});
    return results(call, project(call, joined, output_), {attended, {}}, std::nullopt);
  }

 private:
  [[nodiscard]] Dim size() const { return hidden_dim / num_heads; }
  /// The factor is 3 because a score is the sum of three products: content by content, content by position, and
  /// position by content.
  [[nodiscard]] double scale() const { return 1.0 / std::sqrt(3.0 * static_cast<double>(size())); }

  /// Returns the bucket of a distance. Each distance up to half the number of buckets has its own; larger ones share
  /// logarithmically spaced buckets. Computed in float32, as in KerasHub.
  [[nodiscard]] Dim bucket(Dim distance) const {
    const Dim middle = bucket_size / 2, far = std::abs(distance);
    if (far <= middle) return distance;
    const auto of_middle = [&](Dim n) { return std::log(static_cast<float>(n) / static_cast<float>(middle)); };
    const float steps =
        std::ceil(of_middle(far) * static_cast<float>(middle - 1) / of_middle(max_position_embeddings - 1));
    if (!std::isfinite(steps)) return -2 * bucket_size;  // overflows in KerasHub
    const Dim last = middle + static_cast<Dim>(steps);
    return distance < 0 ? -last : last;
  }
  /// Returns the row of the table for the distance from a query to a key.
  [[nodiscard]] Dim row(Dim distance) const {
    return std::clamp<Dim>(bucket(distance) + bucket_size, 0, 2 * bucket_size - 1);
  }

  /// Returns the position scores (B,N,T,T), from the rows of the table that the distances need.
  [[nodiscard]] ValueId position_scores(Call& call, ValueId query, ValueId key) const {
    Builder& b = call.builder();
    const Dim length = b.shape(query)[1];
    check_table({length, length}, kDistances);
    Dim first = 2 * bucket_size, last = 0;
    for (Dim distance = 1 - length; distance < length; ++distance) {
      first = std::min(first, row(distance));
      last = std::max(last, row(distance));
    }
    const ValueId table = unrepeated(b, call.tensor("rel_embeddings")->id);
    if (const Shape given = b.shape(table); given.rank() != 3 || given[1] != 2 * bucket_size)
      throw bad_input("rel_embeddings must be (batch, {}, features), got {}", 2 * bucket_size, given.str());
    graph::Slice needed;
    needed.ranges = {{}, {first, last + 1, 1}, {}};
    ValueId rows = b.apply(needed, {table});
    if (keras::drops(call, dropout)) rows = dropped(call, rows, dropout, seed.json, b.shape(rows));

    // Both kinds of position scores are computed in two steps. The first gives the scores (B,N,T,R) of each token with
    // all R rows of the table. The second looks up the row that belongs to each pair of tokens.
    const auto of_pairs = [&](ValueId x, const Projection& projection, bool by_query) -> Expression {
      const ValueId positions = project(call, rows, projection);
      const auto by_head = [&](ValueId y) { return b.transpose(y, {0, 2, 1, 3}); };
      const ValueId scores = b.apply(graph::MatMul{false, true}, {by_head(x), by_head(positions)});
      const Shape shape = b.shape(scores);
      const ValueId flat = b.reshape(scores, {shape[0], shape[1], shape[2] * shape[3]});
      return {b, b.apply(graph::Gather{2}, {flat, pairs(call, length, first, last, by_query)})};
    };
    return of_pairs(query, key_, true) * scale() + of_pairs(key, query_, false) * scale();
  }

  /// Returns indices (T,T): the place among the T·R scores of the query, or of the key, of the row that belongs to each
  /// pair.
  [[nodiscard]] ValueId pairs(Call& call, Dim length, Dim first, Dim last, bool by_query) const {
    const std::string key = fmt::format("rows {} to {} for {} positions in {} buckets up to {} {}", first, last, length,
                                        bucket_size.value, max_position_embeddings.value, by_query);
    const auto make = [&] {
      Tensor out = table(DType::int32, {length, length}, kDistances);
      for (Dim t = 0; t < length; ++t)
        for (Dim s = 0; s < length; ++s)
          out.set(t * length + s, static_cast<double>((by_query ? t : s) * (last + 1 - first) + row(t - s) - first));
      return std::vector{call.builder().constant(std::move(out))};
    };
    return call.lowering().common(key, make)[0];
  }

  Positive num_heads, hidden_dim, max_position_embeddings = 512, bucket_size = 256;
};

class DisentangledAttentionEncoder final : public Composite {
 public:
  void fields(Fields& f) override {
    f.required("intermediate_dim", intermediate_dim);
    f.required("num_heads", num_heads);
    f("max_position_embeddings", max_position_embeddings);
    f("bucket_size", bucket_size);
    f("dropout", dropout);
    f("activation", activation);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }
  void check(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 4> kNames = {"inputs", "rel_embeddings", "padding_mask",
                                                               "attention_mask"};
    return kNames;
  }

  void build(Weights&, Call& call) override {
    const Shape in = call.shape("inputs");
    if (in.rank() != 3 || in.back() == kUnknown)
      throw bad_input("expected an input (batch, length, features), got {}", in.str());
    const auto norm = [&](const char* called, const char* attribute) {
      return &make("LayerNormalization", called, attribute, {{"epsilon", layer_norm_epsilon.value}});
    };
    const auto dropping = [&](const char* called, const char* attribute) {
      return &make("Dropout", called, attribute, {{"rate", dropout.value}});
    };
    const auto dense = [&](const char* called, const char* attribute, std::int64_t units, const Json& function) {
      return &make("Dense", called, attribute,
                   {{"units", units},
                    {"activation", function},
                    {"kernel_initializer", kernel_initializer.json},
                    {"bias_initializer", bias_initializer.json}});
    };
    attention_ = &make("DisentangledSelfAttention", "self_attention_layer", "_self_attention_layer",
                       {{"num_heads", num_heads.value},
                        {"hidden_dim", in.back()},
                        {"max_position_embeddings", max_position_embeddings.value},
                        {"bucket_size", bucket_size.value},
                        {"dropout", dropout.value},
                        {"kernel_initializer", kernel_initializer.json},
                        {"bias_initializer", bias_initializer.json}});
    attention_norm_ = norm("self_attention_layer_norm", "_self_attention_layer_norm");
    attention_dropout_ = dropping("self_attention_dropout", "_self_attention_dropout");
    feed_forward_norm_ = norm("feedforward_layer_norm", "_feedforward_layer_norm");
    intermediate_dense_ =
        dense("feedforward_intermediate_dense", "_feedforward_intermediate_dense", intermediate_dim, activation.json);
    output_dense_ = dense("feedforward_output_dense", "_feedforward_output_dense", in.back(), "linear");
    feed_forward_dropout_ = dropping("feedforward_dropout", "_feedforward_dropout");
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = call.tensor("inputs");
    const Arg mask = merged_mask(call, in, "padding_mask", "attention_mask");
    TensorPtr x =
        apply(call, *attention_, {in}, {{"rel_embeddings", call.tensor("rel_embeddings")}, {"attention_mask", mask}});
    x = apply(call, *attention_norm_, {sum(call, apply(call, *attention_dropout_, {x}), in)});
    const TensorPtr fed = apply(call, *output_dense_, {apply(call, *intermediate_dense_, {x})});
    return apply(call, *feed_forward_norm_, {sum(call, apply(call, *feed_forward_dropout_, {fed}), x)});
  }

 private:
  Positive intermediate_dim, num_heads, max_position_embeddings = 512, bucket_size = 256;
  Number dropout = 0, layer_norm_epsilon = 1e-5;
  Activation activation = *Activation::named("relu");
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Layer* attention_ = nullptr;
  Layer* attention_norm_ = nullptr;
  Layer* attention_dropout_ = nullptr;
  Layer* feed_forward_norm_ = nullptr;
  Layer* intermediate_dense_ = nullptr;
  Layer* output_dense_ = nullptr;
  Layer* feed_forward_dropout_ = nullptr;
};

class DebertaV3Backbone : public HeadedBackbone {
 public:
  void fields(Fields& f) override {
    HeadedBackbone::fields(f);
    f("bucket_size", bucket_size);
  }

 protected:
  void assemble() override {
    constexpr double kEpsilon = 1e-7;
    const Json initializer = normal_initializer("TruncatedNormal", 0.02);
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    TensorRef x = call(token_embedding({{"embeddings_initializer", initializer}}), {token_ids});
    x = embeddings_dropout(call("LayerNormalization", "embeddings_layer_norm", {{"epsilon", kEpsilon}}, {x}));
    const TensorRef positions = call("RelativeEmbedding", "rel_embedding",
                                     {{"hidden_dim", hidden_dim.value},
                                      {"bucket_size", bucket_size.value},
                                      {"layer_norm_epsilon", kEpsilon},
                                      {"kernel_initializer", initializer}},
                                     {x});
    const Json block = {{"num_heads", num_heads.value},
                        {"intermediate_dim", intermediate_dim.value},
                        {"max_position_embeddings", max_sequence_length.value},
                        {"bucket_size", bucket_size.value},
                        {"dropout", dropout.value},
                        {"activation", "gelu"},
                        {"layer_norm_epsilon", kEpsilon},
                        {"kernel_initializer", initializer}};
    set_inputs({token_ids, padding_mask});
    output_struct =
        through_blocks(x, "DisentangledAttentionEncoder", "disentangled_attention_encoder_layer",
                       [&](auto) { return block; }, {{"rel_embeddings", positions}, {"padding_mask", padding_mask}});
  }

 private:
  Positive bucket_size = 256;
};

class DebertaV3TextClassifier final : public PoolingClassifier {
 public:
  DebertaV3TextClassifier() : PoolingClassifier(0.0) {}

 protected:
  void assemble() override {
    const TensorRef first = drop("pooled_dropout", first_token(backbone_result()));
    const TensorRef pooled =
        call("Dense", "pooled_dense", {{"units", hidden_dim->value}, {"activation", "gelu"}}, {first});
    output_struct = logits(call("Dropout", "classifier_dropout", {{"rate", backbone_value("dropout")}}, {pooled}));
  }
};

constexpr std::array kLayers = {
    ClassInfo{.name = "RelativeEmbedding",
              .make = make_layer<RelativeEmbedding>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.deberta_v3.relative_embedding",
              .role = Role::embedding,
              .symbols = "rel_embedding: - d_model"},
    ClassInfo{.name = "DisentangledSelfAttention",
              .make = make_layer<DisentangledSelfAttention>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.deberta_v3.disentangled_self_attention",
              .role = Role::attention,
              .symbols = "attention_output/kernel: d_model d_model; attention_output/bias: d_model;"
                         " kernel: d_model h d_head; bias: h d_head"},
    ClassInfo{.name = "DisentangledAttentionEncoder",
              .make = make_layer<DisentangledAttentionEncoder>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.deberta_v3.disentangled_attention_encoder",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<DebertaV3Backbone>("DebertaV3Backbone", "keras_hub.src.models.deberta_v3.deberta_v3_backbone"),
    model_record<DebertaV3TextClassifier>("DebertaV3TextClassifier",
                                          "keras_hub.src.models.deberta_v3.deberta_v3_text_classifier"),
    model_record<MaskedLM, kOnlyOutput>("DebertaV3MaskedLM", "keras_hub.src.models.deberta_v3.deberta_v3_masked_lm"),
};

using tokenizers::FolderTokenizer;
using tokenizers::KerasClass;
using tokenizers::Numbering;
constexpr std::array kTokenizers = {
    KerasClass{.name = "DebertaV3Tokenizer",
               .kind = tokenizers::TokenizerKind::sentence_piece,
               .start = "[CLS]",
               .end = "[SEP]",
               .pad = "[PAD]",
               .more = kMaskToken,
               .numbering = Numbering::mask_behind},
};

// KerasHub cannot read a Hugging Face folder of this family.
constexpr std::array kFolders = {
    FolderTokenizer{.model_type = "deberta-v2",
                    .around = FolderTokenizer::Around::start_and_end,
                    .numbering = Numbering::mask_behind},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "deberta_v3",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .tokenizer_classes = kTokenizers,
                                       .tokenizer_folders = kFolders};
  return kFamily;
}

}  // namespace attn::keras::deberta_v3
