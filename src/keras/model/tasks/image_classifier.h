// keras_hub.models.ImageClassifier: an image backbone, and a classification head.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/tasks/task.h"

namespace attn::keras {

/// The heads of KerasHub's image classifiers.
enum class ImageHead : std::uint8_t {
  token,            ///< the first row or the mean, perhaps a dense layer, dropout, logits (ViT)
  undropped_token,  ///< the first row or the mean, logits; the dropout layer is not called (DeiT)
  mean,             ///< the mean of all rows, dropout, logits (Swin)
  cells             ///< the mean or maximum of all cells, dropout, logits (MiT)
};

class ImageClassifier : public Task {
 public:
  explicit ImageClassifier(ImageHead head = ImageHead::token);
  void fields(Fields& f) override;

 protected:
  [[nodiscard]] std::string_view kind() const override { return "ImageClassifier"; }
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  /// Returns the pooled result of the backbone.
  TensorRef pooled();

  ImageHead head_;
  Positive num_classes;
  std::string pooling;  // for ViT and DeiT, any value except "token" and "gap" disables pooling
  std::optional<Positive> intermediate_dim;
  std::optional<Activation> activation;
  Number dropout = 0.0;
  std::optional<DTypePolicy> head_dtype;
};

}  // namespace attn::keras
