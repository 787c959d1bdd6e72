// keras_hub.models.ImageClassifier: an image backbone, and a classification head.
#include <array>

#include "model/tasks/task.h"

namespace attn::keras {
namespace {

class ViTImageClassifier : public Task {
 public:
  void fields(Fields& f) override {
    f.required("num_classes", num_classes);
    f("pooling", pooling);
    f("intermediate_dim", intermediate_dim);
    f("activation", activation);
    f("dropout", dropout);
    if (f.reading()) f("head_dtype", head_dtype);  // KerasHub accepts it but does not write it
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "ImageClassifier"; }
  void check_fields(const Ref& config) override {
    if (dropout < 0.0 || dropout > 1.0)
      config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  }
  void assemble() override {
    TensorRef x = backbone_result();
    if (pooling == "token") {
      x = operation("GetItem", Json::object(), {x, ArgList{SliceArg{}, std::int64_t{0}}});
    } else if (pooling == "gap") {
      x = operation("Mean", {{"axis", {1}}}, {x});
    }
    const DTypePolicy whole = policy;
    if (intermediate_dim) {
      policy = {};
      x = call("Dense", "pre_logits", {{"units", intermediate_dim->value}, {"activation", "tanh"}}, {x});
    }
    policy = head_dtype.value_or(whole);
    x = call("Dropout", "output_dropout", {{"rate", dropout.value}}, {x});
    output_struct = call("Dense", "predictions",
                         {{"units", num_classes.value}, {"activation", activation ? activation->json : Json()}}, {x});
    policy = whole;
  }

 private:
  Positive num_classes;
  std::string pooling = "token";  // any value except "token" and "gap" disables pooling
  std::optional<Positive> intermediate_dim;
  std::optional<Activation> activation;
  Number dropout = 0.0;
  std::optional<DTypePolicy> head_dtype;
};

}  // namespace

Family image_classifier_tasks() {
  static constexpr std::array kRows = {
      ClassInfo{.name = "ViTImageClassifier",
                .make = make_layer<ViTImageClassifier>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.vit.vit_image_classifier",
                .role = Role::model,
                .package = "keras_hub"},
  };
  return kRows;
}

}  // namespace attn::keras
