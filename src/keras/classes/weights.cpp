#include "classes/weights.h"

#include "attn/base/error.h"

namespace attn::keras {

int Weights::add(std::string_view name, Shape shape, const graph::Initializer& initializer, bool trainable) {
  graph::WeightSpec spec;
  spec.path = path_ + std::string(name);
  spec.store_path = store_ + "vars/" + std::to_string(count_++);
  spec.shape = std::move(shape);
  spec.dtype = dtype_;
  spec.trainable = trainable && trainable_;
  spec.initializer = initializer;
  if (!spec.shape.known())
    throw bad_input("the weight {} would have the shape {}: its sizes must be known", spec.path, spec.shape.str());
  out_.push_back(std::move(spec));
  return static_cast<int>(out_.size()) - 1;
}

}  // namespace attn::keras
