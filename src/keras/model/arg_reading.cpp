#include "model/arg_reading.h"

#include "attn/base/text.h"
#include "config/any_number.h"
#include "config/dtype_policy.h"

namespace attn::keras {
namespace {

std::vector<int> index_pair(const Ref& node, const Ref& tensor) {
  const auto checked = [](const Ref& ref) {
    const std::int64_t value = ref.integer_from(0);
    if (value > 1'000'000) ref.fail("an index of over 1,000,000 is not accepted");
    return static_cast<int>(value);
  };
  return {checked(node), checked(tensor)};
}

DType tensor_dtype(const Ref& ref) {
  const auto dtype = dtype_of(ref.text());
  if (!dtype) ref.fail("unknown dtype " + ref.kind());
  return *dtype;
}

/// Reads a nested list of numbers as a tensor with the list's shape.
Tensor read_constant(const Ref& value, DType dtype) {
  Shape shape;
  for (Ref level = value; level.is_array(); level = level[0]) {
    shape.push_back(static_cast<Dim>(level.size()));
    if (level.size() == 0) break;
  }
  // The list is read before the tensor is allocated, because only its first rows state the size.
  std::vector<double> elements;
  const auto read = [&](auto& self, const Ref& ref, int axis) -> void {
    if (axis == shape.rank()) {
      elements.push_back(ref.is_bool() ? static_cast<double>(ref.boolean()) : any_number(ref));
      return;
    }
    if (!ref.is_array() || static_cast<Dim>(ref.size()) != shape[axis])
      ref.fail(fmt::format("a constant must be rectangular: expected {} elements here", shape[axis]));
    for (const Ref& item : ref.elements()) self(self, item, axis + 1);
  };
  read(read, value, 0);
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < elements.size(); ++i) tensor.set(static_cast<std::int64_t>(i), elements[i]);
  return tensor;
}

}  // namespace

Arg read_arg(const Ref& ref) {
  if (ref.is_null()) return {};
  if (ref.is_bool()) return ref.boolean();
  if (ref.is_integer()) return ref.integer();
  if (ref.is_number()) return any_number(ref);
  if (ref.is_string()) return ref.text();
  if (ref.is_array()) {
    ArgList list;
    for (const Ref& item : ref.elements()) list.push_back(read_arg(item));
    return list;
  }
  const auto class_name = ref.find("class_name");
  if (!class_name || !ref.find("config")) {
    ArgDict dict;
    for (const auto& [key, item] : ref.members()) dict.emplace_back(key, read_arg(item));
    return dict;
  }
  const std::string& kind = class_name->text();
  const Ref config = ref["config"];
  if (kind == "__keras_tensor__") {
    const Ref history = config["keras_history"];
    const auto at = index_pair(history[1], history[2]);
    return TensorRef{history[0].text(), at[0], at[1]};
  }
  if (kind == "__tensor__" || kind == "__numpy__")
    return ConstantArg{read_constant(config["value"], tensor_dtype(config["dtype"]))};
  if (kind == "__slice__") {
    SliceArg slice;
    const auto part = [&](const char* key) -> std::optional<std::int64_t> {
      const auto value = config.find(key);
      if (!value || value->is_null()) return std::nullopt;
      return value->integer();
    };
    slice.range.start = part("start");
    slice.range.stop = part("stop");
    slice.range.step = part("step").value_or(1);
    if (slice.range.step == 0) config["step"].fail("a slice step must not be 0");
    return slice;
  }
  if (kind == "__ellipsis__") return EllipsisArg{};
  if (kind == "DTypePolicy") return DTypePolicy::read(ref).compute;
  class_name->fail(fmt::format("an argument of the kind '{}' is not accepted", printable(kind)));
}

Arg read_tensor_struct(const Ref& ref) {
  if (ref.is_array()) {
    if (ref.size() == 3 && ref[0].is_string()) {
      const auto at = index_pair(ref[1], ref[2]);
      return TensorRef{ref[0].text(), at[0], at[1]};
    }
    ArgList list;
    for (const Ref& item : ref.elements()) list.push_back(read_tensor_struct(item));
    return list;
  }
  if (!ref.is_object()) ref.fail("expected [\"layer\", 0, 0], or a list or an object of them, got " + ref.kind());
  ArgDict dict;
  for (const auto& [key, item] : ref.members()) dict.emplace_back(key, read_tensor_struct(item));
  return dict;
}

}  // namespace attn::keras
