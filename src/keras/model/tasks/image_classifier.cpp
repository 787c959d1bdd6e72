#include "model/tasks/image_classifier.h"

namespace attn::keras {

ImageClassifier::ImageClassifier(ImageHead head)
    : head_(head),
      pooling(head == ImageHead::cells  ? "avg"
              : head == ImageHead::mean ? "gap"
                                        : "token") {}

void ImageClassifier::fields(Fields& f) {
  f.required("num_classes", num_classes);
  f("pooling", pooling);
  if (head_ == ImageHead::token) f("intermediate_dim", intermediate_dim);
  f("activation", activation);
  f("dropout", dropout);
  if (f.reading()) f("head_dtype", head_dtype);  // KerasHub accepts this key but does not write it
}

void ImageClassifier::check_fields(const Ref& config) {
  if (dropout < 0.0 || dropout > 1.0)
    config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
  if (head_ == ImageHead::cells && pooling != "avg" && pooling != "max")
    config["pooling"].fail("expected \"avg\" or \"max\", got " + config["pooling"].kind());
}

TensorRef ImageClassifier::pooled() {
  const TensorRef x = backbone_result();
  if (head_ == ImageHead::cells)
    return call(pooling == "avg" ? "GlobalAveragePooling2D" : "GlobalMaxPooling2D", "pooler", Json::object(), {x});
  if (head_ == ImageHead::mean) return operation("Mean", {{"axis", 1}}, {x});
  if (pooling == "token") return operation("GetItem", Json::object(), {x, ArgList{SliceArg{}, std::int64_t{0}}});
  if (pooling == "gap") return operation("Mean", {{"axis", {1}}}, {x});
  return x;
}

void ImageClassifier::assemble() {
  const DTypePolicy whole = policy;
  if (head_ == ImageHead::cells) policy = head_dtype.value_or(whole);
  TensorRef x = pooled();
  if (intermediate_dim) {
    policy = {};
    x = call("Dense", "pre_logits", {{"units", intermediate_dim->value}, {"activation", "tanh"}}, {x});
  }
  policy = head_dtype.value_or(whole);
  if (head_ != ImageHead::undropped_token) x = call("Dropout", "output_dropout", {{"rate", dropout.value}}, {x});
  output_struct = call("Dense", "predictions",
                       {{"units", num_classes.value}, {"activation", activation ? activation->json : Json()}}, {x});
  policy = whole;
}

}  // namespace attn::keras
