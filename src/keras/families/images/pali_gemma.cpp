// PaliGemma (keras_hub/src/models/pali_gemma): a vision encoder in front of Gemma 1 or 2.
//
// Letters: B batch, P patches, T tokens, D width.
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/call.h"
#include "classes/decoding.h"
#include "families/blocks/decoders/gemma_backbone.h"
#include "families/blocks/decoders/gemma_blocks.h"
#include "families/blocks/images/gemma_vit.h"
#include "families/blocks/images/image_causal_lm.h"
#include "families/blocks/tokens.h"
#include "families/model_family.h"
#include "model/multimodal.h"

namespace attn::keras::pali_gemma {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr GemmaVitKind kKind{"PaliGemmaVitEmbeddings", "PaliGemmaVitAttention", "PaliGemmaVitEncoderBlock",
                             "pali_gemma_vit_encoder_block", false};

/// (B,H,W,3) → (B,P,D): the encoder, and a dense layer to the width of the text model.
class PaliGemmaVit final : public Backbone {
 public:
  PaliGemmaVit() = default;
  PaliGemmaVit(const GemmaVitSizes& of, Positive classes, const std::optional<Activation>& activation)
      : sizes(of), num_classes(classes) {
    if (activation) classifier_activation = *activation;
  }
  void fields(Fields& f) override {
    f.required("num_heads", sizes.num_heads);
    f.required("hidden_dim", sizes.hidden_dim);
    f.required("num_layers", sizes.num_layers);
    f.required("intermediate_dim", sizes.intermediate_dim);
    f("pooling", pooling);
    f.required("num_classes", num_classes);
    f("classifier_activation", classifier_activation);
    f.required("image_size", sizes.image_size);
    f.required("patch_size", sizes.patch_size);
  }

 protected:
  void check_fields(const Ref& config) override {
    sizes.check(config, "", "image_size");
    if (pooling) config["pooling"].fail("expected null: the patches of an image are not pooled for a text model");
  }
  void assemble() override {
    const TensorRef images = input("images", {kUnknown, sizes.image_size, sizes.image_size, 3}, DType::float32);
    const TensorRef x = call("PaliGemmaVitEncoder", "image_encoder", sizes.arguments(), {images});
    input_struct = images;
    output_struct = call("Dense", "image_classifier",
                         {{"units", num_classes.value}, {"activation", classifier_activation.json}}, {x});
  }

 private:
  GemmaVitSizes sizes;
  Positive num_classes;
  std::optional<std::string> pooling;
  Activation classifier_activation = *Activation::named("linear");
};

class PaliGemmaBackbone final : public GemmaFamilyBackbone {
 public:
  void fields(Fields& f) override {
    f.required("vocabulary_size", vocabulary_size);
    f.required("image_size", vit.image_size);
    size_fields(f);
    f.required("vit_patch_size", vit.patch_size);
    f.required("vit_num_heads", vit.num_heads);
    f.required("vit_hidden_dim", vit.hidden_dim);
    f.required("vit_num_layers", vit.num_layers);
    f("vit_intermediate_dim", vit_intermediate_dim);
    if (f.reading()) vit.intermediate_dim = vit_intermediate_dim ? *vit_intermediate_dim : Positive(4304);
    vit_intermediate_dim = vit.intermediate_dim;
    f("vit_pooling", vit_pooling);
    f("vit_classifier_activation", vit_classifier_activation);
    f("vit_name", vit_name);
    block_fields(f);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("dropout", dropout);
  }
  [[nodiscard]] std::int64_t image_positions() const { return vit.side() * vit.side(); }
  [[nodiscard]] std::int64_t image_size() const { return vit.image_size; }
  [[nodiscard]] Layer& encoder() const { return *find(encoder_); }

 protected:
  void check_fields(const Ref& config) override {
    GemmaFamilyBackbone::check_fields(config);
    vit.check(config, "vit_", "image_size");
    if (vit_pooling) config["vit_pooling"].fail("expected null: KerasHub cannot join pooled patches to a text");
  }
  void assemble() override {
    Layer& embedding = make_embedding();
    encoder_ = vit_name.value_or("pali_gemma_vit");
    Layer& encoder =
        inner(std::make_unique<PaliGemmaVit>(vit, hidden_dim, vit_classifier_activation), "PaliGemmaVit", encoder_);
    const TensorRef images = input("images", {kUnknown, vit.image_size, vit.image_size, 3}, DType::float32);
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask"),
                    response_mask = tokens("response_mask");
    const TensorRef patches = call(encoder, {images});
    const TensorRef texts = scaled(call(embedding, {token_ids}));
    const TensorRef x = operation("Concatenate", {{"axis", 1}}, {Arg(ArgList{patches, texts})});
    const auto block = with_shared([&](std::int64_t i) -> Json {
      return {{"use_sliding_window_attention", use_sliding_window_attention && i % 2 == 0}};
    });
    const TensorRef through = through_blocks(x, "PaliGemmaDecoderBlock", "decoder_block", block,
                                             {{"padding_mask", padding_mask}, {"response_mask", response_mask}});
    set_inputs({images, token_ids, padding_mask, response_mask});
    output_struct = final_norm("GemmaRMSNormalization", through);
  }

 private:
  GemmaVitSizes vit;
  std::optional<Positive> vit_intermediate_dim;
  std::optional<std::string> vit_pooling, vit_name;
  std::optional<Activation> vit_classifier_activation;
  std::string encoder_;
};

/// Each prompt begins with an image, whose positions are in front of the tokens.
class PaliGemmaCausalLM final : public ImageCausalLM, public Multimodal {
 public:
  [[nodiscard]] std::vector<MediaPrompt> media_prompts() const override {
    const Dim size = own().image_size();
    return {{.input = "images", .shape = {size, size, 3}, .tokens = own().image_positions()}};
  }

 protected:
  void assemble() override {
    const TensorRef logits = reverse_embedding(backbone_result());
    graph::Range texts;
    texts.start = own().image_positions();
    output_struct = operation("GetItem", Json::object(), {logits, ArgList{SliceArg{}, SliceArg{texts}, SliceArg{}}});
  }
  std::pair<ValueId, ArgDict> with_images(Lowering& lowering, ValueId texts) override {
    Builder& b = lowering.builder();
    const TensorPtr images = lowering.decoding->media_input(b, "images", DType::float32);
    const Arg patches = lowering.apply(own().encoder(), ArgList{images}, ArgDict{});
    const ValueId rows = b.cast((*patches.as<TensorPtr>())->id, b.dtype(texts));
    return {b.apply(graph::Concat{1}, {rows, texts}), {}};
  }

 private:
  [[nodiscard]] PaliGemmaBackbone& own() const { return dynamic_cast<PaliGemmaBackbone&>(backbone()); }
};

constexpr std::string_view kVit = "keras_hub.src.models.pali_gemma.pali_gemma_vit";

constexpr std::array kLayers = {
    ClassInfo{.name = "PaliGemmaVitEmbeddings",
              .make = make_gemma_vit_embedding,
              .since = kAnyKeras,
              .module = kVit,
              .role = Role::embedding},
    ClassInfo{.name = "PaliGemmaVitAttention",
              .make = make_gemma_vit_attention,
              .since = kAnyKeras,
              .module = kVit,
              .role = Role::attention},
    ClassInfo{.name = "PaliGemmaVitEncoderBlock",
              .make = [] { return make_gemma_vit_block(kKind); },
              .since = kAnyKeras,
              .module = kVit,
              .role = Role::transformer},
    ClassInfo{.name = "PaliGemmaVitEncoder",
              .make = [] { return make_gemma_vit_encoder(kKind); },
              .since = kAnyKeras,
              .module = kVit},
    ClassInfo{.name = "PaliGemmaVit",
              .make = make_layer<PaliGemmaVit>,
              .since = kAnyKeras,
              .module = kVit,
              .role = Role::model},
    ClassInfo{.name = "PaliGemmaDecoderBlock",
              .make = make_gemma_block<GemmaGeneration::pali>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.pali_gemma.pali_gemma_decoder_block",
              .role = Role::transformer},
};

constexpr std::array kModels = {
    model_record<PaliGemmaBackbone>("PaliGemmaBackbone", "keras_hub.src.models.pali_gemma.pali_gemma_backbone"),
    model_record<PaliGemmaCausalLM>("PaliGemmaCausalLM", "keras_hub.src.models.pali_gemma.pali_gemma_causal_lm"),
};

constexpr std::array kTokenizers = {
    tokenizers::KerasClass{.name = "PaliGemmaTokenizer",
                           .kind = tokenizers::TokenizerKind::sentence_piece,
                           .start = "<bos>",
                           .end = "<eos>",
                           .pad = kPadToken},
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "pali_gemma",
                                       .layers = kLayers,
                                       .models = kModels,
                                       .tokenizer_classes = kTokenizers,
                                       .sampler = "greedy"};
  return kFamily;
}

}  // namespace attn::keras::pali_gemma
