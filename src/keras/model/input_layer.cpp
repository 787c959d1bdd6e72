#include "model/input_layer.h"

#include <array>

#include "attn/base/error.h"
#include "classes/call.h"

namespace attn::keras {

DType InputLayer::element_type() const { return is_text() ? DType::int8 : *dtype_of(dtype); }

TensorPtr input_tensor(graph::Builder& b, const InputLayer& input, const Shape& shape) {
  const DType dtype = input.element_type();
  if (!input.is_text()) return Call::result(b.input(input.name, dtype, shape));
  const TensorPtr out = Call::result(b.apply(graph::Fill{shape, dtype, 0.0}, {}));
  out->text = std::make_shared<const TextSource>(TextSource{input.name, shape});
  return out;
}

void InputLayer::config(Fields& f) {
  if (f.reading()) {
    f.ignored({"shape"});
    f.foreign({"trainable"});
    for (const char* key : {"batch_shape", "batch_input_shape"})
      if (const auto ref = f.take(key); ref && !ref->is_null()) batch_shape = ref->shape();
    if (const auto ref = f.take("shape"); ref && !ref->is_null()) {
      batch_shape = Shape{kUnknown};
      batch_shape.append(ref->shape());
    }
    if (const auto ref = f.take("dtype"); ref && !ref->is_null()) {
      const Ref text = ref->is_object() ? (*ref)["config"]["name"] : *ref;
      dtype = text.text();
      if (!is_text() && !dtype_of(dtype)) text.fail("unknown dtype " + text.kind());
    }
  } else {
    f("batch_shape", batch_shape);
    f("dtype", dtype);
  }
  f("sparse", sparse);
  f("ragged", ragged, 309);
  f("name", name);
  f("optional", optional, 313);
  if (f.reading()) {
    if (sparse) f.config()["sparse"].fail("sparse inputs are not supported");
    if (ragged) f.config()["ragged"].fail("ragged inputs are not supported");
  }
}

Arg InputLayer::call(Call&) { throw internal_error("an InputLayer is not called"); }

namespace {

constexpr std::array kInputKeras2 = {Keras2Key{"batch_input_shape", "batch_shape"}};

constexpr std::array kInputClasses = {ClassInfo{.name = "InputLayer",
                                                .make = make_layer<InputLayer>,
                                                .since = 300,
                                                .role = Role::input,
                                                .keras2_keys = kInputKeras2}};

}  // namespace

std::unique_ptr<InputLayer> make_input(std::string_view name, const Shape& batch_shape, std::string_view dtype) {
  auto input = std::make_unique<InputLayer>();
  input->info = &kInputClasses.front();
  input->name = name;
  input->batch_shape = batch_shape;
  input->dtype = dtype;
  return input;
}

Family input_classes() { return kInputClasses; }

}  // namespace attn::keras
