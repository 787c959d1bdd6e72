#include "model/tasks/image_classifier.h"

namespace attn::keras {

void ImageClassifier::fields(Fields& f) {
  f.required("num_classes", num_classes);
  f("pooling", pooling);
  f("intermediate_dim", intermediate_dim);
  f("activation", activation);
  f("dropout", dropout);
  if (f.reading()) f("head_dtype", head_dtype);  // KerasHub accepts this key but does not write it
}

void ImageClassifier::check_fields(const Ref& config) {
  if (dropout < 0.0 || dropout > 1.0)
    config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
}

void ImageClassifier::assemble() {
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

}  // namespace attn::keras
