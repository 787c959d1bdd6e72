// Models that compare images with texts: an encoder for each, and a matrix of similarities.
//
// Letters: V images, T texts, D width.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classes/reading.h"
#include "families/blocks/images/vision_blocks.h"
#include "model/compares.h"

namespace attn::keras {

/// (V,D), (T,D) → (V,T), (T,V): the cosines of the vectors, times a trained factor, perhaps plus a trained bias.
class SimilarityHead final : public Layer {
 public:
  /// `factor` is the initial logarithm of the factor.
  SimilarityHead(bool biased, double factor) : biased_(biased), factor_(factor) {}
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

 private:
  bool biased_;
  double factor_;
};

/// The fields of the encoders of images and texts.
struct EncoderSizes {
  Positive hidden_dim, num_layers, num_heads, intermediate_dim;
  std::string intermediate_activation;

  void fields(Fields& f);
  void check(const Ref& config) const;
};

/// The activation of an encoder: a name of Keras, or that of a function of KerasHub.
[[nodiscard]] graph::ValueId activated(graph::Builder& b, std::string_view name, graph::ValueId x);
/// Throws Error (bad_input) for an unknown name.
void check_activation(const Ref& config, std::string_view key, const std::string& name);

/// Patches with position embeddings. The variable with the numbers of positions exists in files.
class PatchEmbedding : public Composite {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override;

 protected:
  /// `tokens` is the number of rows in front of the patches.
  explicit PatchEmbedding(std::int64_t tokens) : tokens_(tokens) {}
  /// Declares the numbers of positions, which are zero until a file is read if not `counted`.
  void add_positions(Weights& w, bool counted);
  void make_parts(Json patch_arguments, Json position_arguments);
  /// Returns the patches (B,P,D).
  graph::ValueId patches(Call& call) { return rows_of_cells(call.builder(), patch(call)); }
  /// Returns x plus the embeddings of the declared positions; without a declaration, of those from 0 on.
  TensorPtr with_positions(Call& call, graph::ValueId x);
  [[nodiscard]] std::int64_t positions() const { return side() * side() + tokens_; }

  Positive hidden_dim, patch_size, image_size;

 private:
  [[nodiscard]] std::int64_t side() const { return image_size / patch_size; }
  graph::ValueId patch(Call& call) { return apply(call, *patch_embedding_, {call.tensor("inputs")})->id; }

  std::int64_t tokens_;
  std::optional<int> position_ids_;
  Layer* patch_embedding_ = nullptr;
  Layer* position_embedding_ = nullptr;
};

/// Declares the variable of integers that numbers positions; they are zero until a file is read if not `counted`.
int add_position_ids(Weights& w, std::int64_t count, bool counted);

/// A backbone of an encoder of images and one of texts.
class ImageTextBackbone : public Backbone, public Compares {
 public:
  /// The results of the model.
  static constexpr std::string_view kTexts = "token_ids", kImageLogits = "vision_logits";

  [[nodiscard]] const ImageTexts& image_texts() const override { return how_; }
  void fields(Fields& f) override {
    f.required("vision_encoder", vision_encoder_);
    f.required("text_encoder", text_encoder_);
  }

 protected:
  /// `stem` is the prefix of the names of the encoders' classes.
  ImageTextBackbone(std::string_view stem, const ImageTexts& how) : stem_(stem), how_(how) {}
  void check_fields(const Ref& config) override;
  /// Adds the inputs and the calls of the encoders, and returns their results: images, then texts.
  std::pair<TensorRef, TensorRef> encoded();
  /// Adds the head, whose two results are those of the model.
  void compare(std::string_view class_name, std::string_view called, const TensorRef& images, const TensorRef& texts);
  [[nodiscard]] const TensorRef& token_ids() const { return token_ids_; }
  [[nodiscard]] std::string class_of(std::string_view part) const { return std::string(stem_) + std::string(part); }

 private:
  std::string_view stem_;
  const ImageTexts& how_;
  LayerPtr vision_encoder_, text_encoder_;
  TensorRef token_ids_;
};

}  // namespace attn::keras
