#include "classes/weights.h"

#include "attn/base/error.h"

namespace attn::keras {

int Weights::add(std::string_view name, Shape shape, const graph::Initializer& initializer, bool trainable) {
  return add({name, std::move(shape), initializer, std::nullopt, trainable, count_, std::nullopt});
}

int Weights::add(Placed variable) {
  graph::WeightSpec spec;
  spec.path = path_ + std::string(variable.name);
  spec.store_path = store_ + "vars/" + std::to_string(variable.place);
  spec.shape = std::move(variable.shape);
  spec.dtype = variable.dtype.value_or(dtype_);
  spec.trainable = variable.trainable && trainable_;
  spec.initializer = std::move(variable.initializer);
  spec.quantized = std::move(variable.quantized);
  if (!spec.shape.known())
    throw bad_input("the weight {} would have the shape {}: its sizes must be known", spec.path, spec.shape.str());
  ++count_;
  out_.push_back(std::move(spec));
  return static_cast<int>(out_.size()) - 1;
}

}  // namespace attn::keras
