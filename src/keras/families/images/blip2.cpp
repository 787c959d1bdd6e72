// BLIP-2, which continues texts behind an image (keras_hub/src/models/blip2).
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classes/decoding.h"
#include "classes/ops/expression.h"
#include "classes/reading.h"
#include "families/blocks/images/blip2_layers.h"
#include "families/blocks/images/blip2_models.h"
#include "families/blocks/layer_record.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/multimodal.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras::blip2 {
namespace {

using graph::Builder;
using graph::ValueId;

class BLIP2Backbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("vision_encoder", vision_encoder_);
    f.required("qformer", qformer_);
    f.required("language_model", language_model_);
  }
  [[nodiscard]] Functional& text_model() const { return dynamic_cast<Functional&>(*language_model_); }
  /// Returns the text model, null if it is of the other kind.
  [[nodiscard]] Blip2Opt* opt() const { return dynamic_cast<Blip2Opt*>(language_model_.get()); }
  [[nodiscard]] Blip2FlanT5* flan_t5() const { return dynamic_cast<Blip2FlanT5*>(language_model_.get()); }
  [[nodiscard]] const Blip2Queries& queries() const { return opt() ? opt()->queries() : flan_t5()->queries(); }

  /// Returns the shape (H,W,3) of an image. Called only if there is a vision encoder.
  [[nodiscard]] Shape image_shape() const { return {vision_encoder().height(), vision_encoder().width(), 3}; }
  /// Adds an input of images, one for each row, and returns what the text model reads of them: (B,Q,D).
  TensorPtr image_rows(Lowering& lowering, Dim rows) const {
    const auto applied = [&](Layer& layer, const TensorPtr& x) {
      return *lowering.apply(layer, ArgList{x}, ArgDict{}).as<TensorPtr>();
    };
    Shape shape{rows};
    shape.append(image_shape());
    const ValueId images = lowering.builder().input("images", DType::float32, shape);
    const TensorPtr read = applied(**qformer_, applied(**vision_encoder_, Call::result(images)));
    return applied(*queries().projection, read);
  }

 protected:
  void check_fields(const Ref& config) override {
    if (opt() == nullptr && flan_t5() == nullptr)
      config["language_model"].fail("expected a BLIP2CustomOPT or a BLIP2FlanT5");
    const auto is_given = [](const std::optional<LayerPtr>& layer) { return layer && *layer != nullptr; };
    if (is_given(vision_encoder_) != is_given(qformer_))
      config["qformer"].fail("a BLIP-2 has both a vision encoder and a Q-Former, or none of them");
    if (!is_given(vision_encoder_)) {
      if (queries().count > 0)
        config["language_model"].fail(
            fmt::format("the text model reads {} query tokens, and there is no Q-Former", queries().count));
      return;
    }
    if (dynamic_cast<Blip2VisionEncoder*>(vision_encoder_->get()) == nullptr)
      config["vision_encoder"].fail("expected a BLIP2VisionEncoder");
    if (dynamic_cast<Blip2QFormer*>(qformer_->get()) == nullptr) config["qformer"].fail("expected a BLIP2QFormer");
    check_sizes(config);
  }

  void assemble() override {
    // KerasHub assigns the models first, which counts for the order of variables.
    const bool sees = vision_encoder_.has_value();
    if (sees) {
      borrow(**vision_encoder_);
      borrow(**qformer_);
    }
    borrow(*language_model_);
    const auto tokens = [&](const std::string& called) { return input(called, {kUnknown, kUnknown}, DType::int32); };
    const bool encodes = flan_t5() != nullptr;
    const std::string prefix = encodes ? "encoder_" : "";
    ArgDict inputs, read;
    for (const char* key : {"token_ids", "padding_mask"}) {
      const TensorRef given = tokens(prefix + key);
      inputs.emplace_back(given.layer, given);
      read.emplace_back(key, given);
    }
    TensorRef queries;
    if (sees) {
      const auto& encoder = vision_encoder();
      const TensorRef images = input("images", {kUnknown, encoder.height(), encoder.width(), 3}, DType::float32);
      inputs.emplace_back(images.layer, images);
      queries = call(**qformer_, {call(**vision_encoder_, {images})});
    }
    if (encodes) {
      for (const char* key : {"decoder_token_ids", "decoder_padding_mask"}) {
        const TensorRef given = tokens(key);
        inputs.emplace_back(key, given);
        read.emplace_back(key, given);
      }
    }
    if (sees) read.emplace_back("qformer_features", queries);
    input_struct = inputs;
    TensorRef hidden = call(*language_model_, {read});
    ++hidden.node;  // the outputs of a model count the calls of models from 1
    output_struct = hidden;
  }

 private:
  [[nodiscard]] const Blip2VisionEncoder& vision_encoder() const {
    return dynamic_cast<const Blip2VisionEncoder&>(**vision_encoder_);
  }
  void check_sizes(const Ref& config) const {
    const auto& qformer = dynamic_cast<const Blip2QFormer&>(**qformer_);
    if (qformer.features_read() != vision_encoder().features())
      config["qformer"].fail(fmt::format("`vision_dim` is {}, and the patches have {} features",
                                         qformer.features_read(), vision_encoder().features()));
    if (queries().count != qformer.queries())
      config["language_model"].fail(fmt::format("the text model reads {} query tokens, and the Q-Former has {}",
                                                queries().count, qformer.queries()));
    if (queries().features != qformer.features())
      config["language_model"].fail(fmt::format("`qformer_hidden_dim` is {}, and the query tokens have {} features",
                                                queries().features.value, qformer.features()));
  }

  std::optional<LayerPtr> vision_encoder_, qformer_;
  LayerPtr language_model_;
};

/// Returns the backbone of a task.
BLIP2Backbone& own_backbone(const Task& task) { return dynamic_cast<BLIP2Backbone&>(task.backbone()); }

/// A task whose prompts begin with an image, unless its backbone has no vision encoder.
class BLIP2Task : public Multimodal {
 public:
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const override {
    const BLIP2Backbone& backbone = own_backbone(dynamic_cast<const Task&>(*this));
    if (backbone.queries().count == 0) return {};
    return {{.input = "images", .shape = backbone.image_shape(), .tokens = backbone.queries().count}};
  }
};

/// An OPT whose prompts begin with an image.
class BLIP2CausalLM final : public CausalLM, public BLIP2Task {
 public:
  [[nodiscard]] Decoded decode(Lowering& lowering, ValueId token_ids, bool every_position) override {
    const BLIP2Backbone& backbone = own_backbone(*this);
    const Functional& model = backbone.text_model();
    const auto applied = [&](const std::string& called, ArgList args, ArgDict how = {}) {
      return tensors_of(lowering.apply(*model.find(called), std::move(args), std::move(how)));
    };
    const TensorPtr ids = Call::result(token_ids);
    TensorPtr x;
    if (!lowering.decoding->media.empty()) {
      Decoding* const decoding = std::exchange(lowering.decoding, nullptr);  // the image is read as a whole
      Builder& b = lowering.builder();
      const TensorPtr image = backbone.image_rows(lowering, b.shape(token_ids)[0]);
      lowering.decoding = decoding;
      const auto texts = applied("embeddings_layer", {ids}, {{"visual_positions", backbone.queries().count}});
      const ValueId placed = Expression(b, image->id) + Expression(b, texts[1]->id);
      x = Call::result(b.apply(graph::Concat{1}, {placed, texts[0]->id}));
    } else {
      x = applied("embeddings_layer", {ids}).front();
    }
    for (std::int64_t i = 0; i < backbone.opt()->blocks(); ++i)
      x = applied(fmt::format("transformer_layer_{}", i), {x}).front();
    return answered(lowering, applied("layer_norm", {x}).front()->id, every_position);
  }

 protected:
  void assemble() override {
    if (own_backbone(*this).opt() == nullptr) fail("the text model of a BLIP2CausalLM is a BLIP2CustomOPT");
    graph::Range texts;
    texts.start = own_backbone(*this).queries().count;
    output_struct = reverse_embedding(
        operation("GetItem", Json::object(), {backbone_result(), ArgList{SliceArg{}, SliceArg{texts}, SliceArg{}}}));
  }
};

/// A Flan-T5 whose encoder reads an image and a text.
class BLIP2Seq2SeqLM final : public T5StacksLM, public BLIP2Task {
 protected:
  void assemble() override {
    if (own_backbone(*this).flan_t5() == nullptr) fail("the text model of a BLIP2Seq2SeqLM is a BLIP2FlanT5");
    Layer& head = own_backbone(*this).flan_t5()->head();
    const TensorRef hidden = backbone_result();
    borrow(head);
    output_struct = call(head, {hidden});
  }
  [[nodiscard]] Functional& text_model() const override { return own_backbone(*this).text_model(); }

  TensorPtr encode(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& mask) override {
    Builder& b = lowering.builder();
    TensorPtr x = embedded(lowering, tokens);
    if (!media_prompts().empty()) {
      const TensorPtr image = own_backbone(*this).image_rows(lowering, b.shape(tokens->id)[0]);
      x = Call::result(b.apply(graph::Concat{1}, {image->id, x->id}));
    }
    return through(lowering, "encoder", x, blocks(), {{"attention_mask", seen(lowering, mask)}});
  }
  TensorPtr decode_behind(Lowering& lowering, const TensorPtr& tokens, const TensorPtr& encoded,
                          const TensorPtr& mask) override {
    return through(lowering, "decoder", embedded(lowering, tokens), blocks(),
                   {{"encoder_hidden_states", encoded},
                    {"encoder_attention_mask", seen(lowering, mask)},
                    {"use_causal_mask", true}});
  }
  TensorPtr logits_of(Lowering& lowering, const TensorPtr& hidden) override {
    return *lowering.apply(own_backbone(*this).flan_t5()->head(), ArgList{hidden}, ArgDict{}).as<TensorPtr>();
  }

 private:
  [[nodiscard]] std::int64_t blocks() const { return own_backbone(*this).flan_t5()->blocks(); }
  TensorPtr embedded(Lowering& lowering, const TensorPtr& tokens) {
    return call_layer(lowering, "token_embedding", {tokens});
  }
  /// Returns the mask (B,1,Q+T) of the encoder's rows: no query is hidden.
  TensorPtr seen(Lowering& lowering, const TensorPtr& mask) {
    Builder& b = lowering.builder();
    TensorPtr out = mask;
    if (const std::int64_t count = own_backbone(*this).queries().count; count > 0) {
      const ValueId queries = b.apply(graph::Fill{{b.shape(mask->id)[0], count}, b.dtype(mask->id), 1.0}, {});
      out = Call::result(b.apply(graph::Concat{1}, {queries, mask->id}));
    }
    return with_query_axis(lowering, out);
  }
};

constexpr std::string_view kQFormer = "keras_hub.src.models.blip2.blip2_qformer",
                           kOpt = "keras_hub.src.models.blip2.blip2_custom_opt";

/// Returns the record of a class whose registered name has KerasHub's package.
constexpr ClassInfo registered(ClassInfo layer) {
  layer.package = "keras_hub";
  return layer;
}

constexpr std::array kLayers = {
    registered(layer_record("QFormerAttention", make_qformer_attention, kQFormer, Role::transformer)),
    registered(layer_record("QFormerLayer", make_qformer_layer, kQFormer, Role::transformer)),
    registered(
        layer_record("BLIP2QueryTokens", make_query_tokens, kQFormer, Role::embedding, "query_tokens: - - d_model")),
    registered(layer_record("BLIP2OPTEmbeddings", make_opt_embeddings, kOpt, Role::tokens)),
    model_record<Blip2VisionEncoder>("BLIP2VisionEncoder", "keras_hub.src.models.blip2.blip2_vision_encoder"),
    model_record<Blip2QFormer>("BLIP2QFormer", kQFormer),
    model_record<Blip2Opt>("BLIP2CustomOPT", kOpt),
    model_record<Blip2FlanT5>("BLIP2FlanT5", "keras_hub.src.models.blip2.blip2_flan_t5_lm"),
};

constexpr std::array kModels = {
    model_record<BLIP2Backbone>("BLIP2Backbone", "keras_hub.src.models.blip2.blip2_backbone"),
    model_record<BLIP2CausalLM>("BLIP2CausalLM", "keras_hub.src.models.blip2.blip2_causal_lm"),
    model_record<BLIP2Seq2SeqLM>("BLIP2Seq2SeqLM", "keras_hub.src.models.blip2.blip2_seq_2_seq_lm"),
};

using tokenizers::KerasClass;
using tokenizers::TokenizerKind;
constexpr std::array<std::string_view, 1> kImageToken{"<image>"};
constexpr std::array kTokenizers = {
    KerasClass{.name = "BLIP2OPTTokenizer",
               .kind = TokenizerKind::byte_pairs,
               .start = kEndToken,
               .end = "\u010a",  // the line feed of a byte-level vocabulary
               .pad = kPadToken,
               .more = kImageToken,
               .words = tokenizers::kGpt2Words},
    KerasClass{.name = "BLIP2FlanT5Tokenizer",
               .kind = TokenizerKind::sentence_piece,
               .start = kEndToken,
               .end = kEndToken,
               .pad = kPadToken,
               .transformers_class = "T5Tokenizer",
               .transformers_file = "spiece.model"},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{
      .name = "blip2", .layers = kLayers, .models = kModels, .tokenizer_classes = kTokenizers, .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::blip2
