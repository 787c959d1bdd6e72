// keras_hub.models.TextClassifier: an encoder, and a classification head on the first token.
#pragma once

#include <optional>
#include <string_view>

#include "model/tasks/task.h"

namespace attn::keras {

class TextClassifier : public Task {
 protected:
  explicit TextClassifier(Number rate) : dropout(rate) {}

  [[nodiscard]] std::string_view kind() const override { return "TextClassifier"; }
  void check_fields(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  }
  /// Returns the kernel initializer of the logits.
  [[nodiscard]] virtual Json initializer() const { return normal_initializer("TruncatedNormal", 0.02); }
  TensorRef drop(std::string_view called, const TensorRef& x) {
    return call("Dropout", called, {{"rate", dropout.value}}, {x});
  }
  TensorRef logits(const TensorRef& x) {
    return call("Dense", "logits",
                {{"units", num_classes.value}, {"kernel_initializer", initializer()}, {"activation", activation.json}},
                {x});
  }

  Positive num_classes;
  Activation activation = *Activation::named("linear");
  std::optional<Positive> hidden_dim;  // null: the size of the backbone
  Number dropout;
};

/// The classifiers of BERT and ALBERT, whose backbones already pool the first token.
class PooledClassifier : public TextClassifier {
 public:
  explicit PooledClassifier(const char* dropout_name) : TextClassifier(0.1), dropout_name_(dropout_name) {}
  void fields(Fields& f) override {
    f.required("num_classes", num_classes);
    f("activation", activation);
    f("dropout", dropout);
  }

 protected:
  void assemble() override { output_struct = logits(drop(dropout_name_, backbone_result("pooled_output"))); }

 private:
  const char* dropout_name_;
};

/// Classifiers whose backbone does not pool: the head has a dense layer for the first token.
class PoolingClassifier : public TextClassifier {
 public:
  void fields(Fields& f) override {
    f.required("num_classes", num_classes);
    f("activation", activation);
    f("hidden_dim", hidden_dim);
    f("dropout", dropout);
  }

 protected:
  using TextClassifier::TextClassifier;
  void check_fields(const Ref& config) override {
    TextClassifier::check_fields(config);
    if (!hidden_dim) hidden_dim = Positive(backbone_size("hidden_dim"));
  }
};

/// RoBERTa's classifier, which also applies dropout to the first token before the dense layer.
class DroppingClassifier : public PoolingClassifier {
 public:
  DroppingClassifier() : PoolingClassifier(0.0) {}

 protected:
  void assemble() override {
    const TensorRef first = drop("pooled_dropout", first_token(backbone_result()));
    const TensorRef pooled =
        call("Dense", "pooled_dense", {{"units", hidden_dim->value}, {"activation", "tanh"}}, {first});
    output_struct = logits(drop("output_dropout", pooled));
  }
};

}  // namespace attn::keras
