// keras_hub.models.ImageClassifier: an image backbone, and a classification head.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/tasks/task.h"

namespace attn::keras {

class ImageClassifier : public Task {
 public:
  void fields(Fields& f) override;

 protected:
  [[nodiscard]] std::string_view kind() const override { return "ImageClassifier"; }
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  Positive num_classes;
  std::string pooling = "token";  // any value except "token" and "gap" disables pooling
  std::optional<Positive> intermediate_dim;
  std::optional<Activation> activation;
  Number dropout = 0.0;
  std::optional<DTypePolicy> head_dtype;
};

}  // namespace attn::keras
