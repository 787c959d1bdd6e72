// keras_hub.models.TextEmbedder: a backbone, and the pooling of its positions to one vector.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/tasks/task.h"

namespace attn::keras {

/// The families of embedders: BERT's, whose backbone also returns a pooled output, those of later encoders, and those
/// of decoders.
enum class EmbedderKind : std::uint8_t { bert, encoder, decoder };

class TextEmbedder : public Task {
 public:
  explicit TextEmbedder(EmbedderKind which);
  void fields(Fields& f) override {
    f("pooling_mode", pooling_mode);
    f("normalize", normalize);
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "TextEmbedder"; }
  void assemble() override;

 private:
  TensorRef last_token(const TensorRef& x, const TensorRef& mask);
  TensorRef mean(const TensorRef& x, const TensorRef& mask);
  TensorRef maximum(const TensorRef& x, const TensorRef& mask);

  EmbedderKind kind_;
  Choice pooling_mode;
  bool normalize = true;
};

}  // namespace attn::keras
