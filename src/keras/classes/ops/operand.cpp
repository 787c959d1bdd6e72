#include "classes/ops/operand.h"

#include "attn/base/error.h"

namespace attn::keras {
namespace {

/// The contents of a nested list of numbers.
struct ListContent {
  std::vector<double> numbers;
  bool integral = true, boolean = true;
  bool rectangular = true;
};

void collect(const Arg& arg, const Shape& shape, int axis, ListContent& out) {
  const auto* list = arg.as<ArgList>();
  if (axis < shape.rank()) {
    out.rectangular = out.rectangular && list != nullptr && static_cast<Dim>(list->size()) == shape[axis];
    if (out.rectangular)
      for (const Arg& item : *list) collect(item, shape, axis + 1, out);
    return;
  }
  const auto* integer = arg.as<std::int64_t>();
  const auto* floating = arg.as<double>();
  const auto* boolean = arg.as<bool>();
  out.rectangular = out.rectangular && (integer != nullptr || floating != nullptr || boolean != nullptr);
  if (!out.rectangular) return;
  out.boolean = out.boolean && boolean != nullptr;
  out.integral = out.integral && floating == nullptr;
  out.numbers.push_back(integer != nullptr    ? static_cast<double>(*integer)
                        : floating != nullptr ? *floating
                                              : *boolean);
}

Tensor array_of(const ArgList& list, std::string_view name) {
  Shape shape{static_cast<Dim>(list.size())};
  for (const auto* inner = list.empty() ? nullptr : list.front().as<ArgList>(); inner != nullptr;
       inner = inner->empty() ? nullptr : inner->front().as<ArgList>())
    shape.push_back(static_cast<Dim>(inner->size()));
  ListContent content;
  collect(list, shape, 0, content);
  if (!content.rectangular) throw bad_input("the argument '{}' must be a rectangular list of numbers", name);
  const DType dtype = content.numbers.empty() || !content.integral ? DType::float32
                      : content.boolean                            ? DType::boolean
                                                                   : DType::int32;
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < content.numbers.size(); ++i) tensor.set(static_cast<std::int64_t>(i), content.numbers[i]);
  return tensor;
}

}  // namespace

Operand::Operand(Call& call, const Arg& arg, std::string_view name) : builder_(&call.builder()) {
  if (const auto* tensor = arg.as<TensorPtr>()) {
    content_ = (*tensor)->id;
  } else if (const auto* constant = arg.as<ConstantArg>()) {
    content_ = constant->tensor;
  } else if (const auto* list = arg.as<ArgList>()) {
    content_ = array_of(*list, name);
  } else if (const auto* boolean = arg.as<bool>()) {
    Tensor scalar(DType::boolean, Shape{});
    scalar.set(0, *boolean ? 1.0 : 0.0);
    content_ = scalar;
  } else if (const auto* integer = arg.as<std::int64_t>()) {
    content_ = PythonNumber{static_cast<double>(*integer), true};
  } else if (const auto* floating = arg.as<double>()) {
    content_ = PythonNumber{*floating, false};
  } else {
    throw bad_input("the argument '{}' must be a tensor, an array or a number", name);
  }
}

Promoted Operand::type() const {
  if (const auto* id = std::get_if<graph::ValueId>(&content_)) return builder_->dtype(*id);
  if (const auto* tensor = std::get_if<Tensor>(&content_)) return tensor->dtype();
  return std::get<PythonNumber>(content_).integral ? kPythonInt : kPythonFloat;
}

Shape Operand::shape() const {
  if (const auto* id = std::get_if<graph::ValueId>(&content_)) return builder_->shape(*id);
  if (const auto* tensor = std::get_if<Tensor>(&content_)) return tensor->shape();
  return {};
}

graph::ValueId Operand::as(DType dtype) const {
  if (const auto* id = std::get_if<graph::ValueId>(&content_)) return builder_->cast(*id, dtype);
  if (const auto* tensor = std::get_if<Tensor>(&content_))
    return builder_->constant(tensor->dtype() == dtype ? *tensor : tensor->cast(dtype));
  Tensor scalar(dtype, Shape{});
  scalar.set(0, std::get<PythonNumber>(content_).value);
  return builder_->constant(std::move(scalar));
}

std::vector<Operand> operands(Call& call, std::string_view name) {
  const auto* list = call.arg(name).as<ArgList>();
  if (list == nullptr || list->empty()) throw bad_input("the argument '{}' must be a list of tensors", name);
  std::vector<Operand> out;
  for (const Arg& item : *list) out.emplace_back(call, item, name);
  return out;
}

std::vector<Promoted> types_of(std::span<const Operand> operands) {
  std::vector<Promoted> types;
  for (const Operand& operand : operands) types.push_back(operand.type());
  return types;
}

double number_argument(Call& call, std::string_view name, double missing) {
  if (!call.has(name)) return missing;
  const Arg& arg = call.arg(name);
  if (const auto* integer = arg.as<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* floating = arg.as<double>()) return *floating;
  throw bad_input("the argument '{}' must be a number", name);
}

}  // namespace attn::keras
