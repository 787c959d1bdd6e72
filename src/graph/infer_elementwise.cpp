#include "attn/base/error.h"
#include "infer.h"

namespace attn::graph {
namespace {

Domain domain_of(BinaryFn fn) {
  switch (fn) {
    case BinaryFn::divide:
    case BinaryFn::atan2:
      return Domain::floating;
    case BinaryFn::subtract:
    case BinaryFn::floor_divide:
    case BinaryFn::mod:
    case BinaryFn::power:
      return Domain::number;
    case BinaryFn::add:  // NumPy adds two bool as "or" and multiplies them as "and"
    case BinaryFn::multiply:
    case BinaryFn::maximum:
    case BinaryFn::minimum:
      return Domain::any;
    case BinaryFn::equal:
    case BinaryFn::not_equal:
    case BinaryFn::less:
    case BinaryFn::less_equal:
    case BinaryFn::greater:
    case BinaryFn::greater_equal:
      return Domain::test;
    case BinaryFn::logical_and:
    case BinaryFn::logical_or:
    case BinaryFn::logical_xor:
      return Domain::boolean;
  }
  return Domain::number;
}

DType result_of(Domain domain, DType dtype, std::string_view name) {
  switch (domain) {
    case Domain::any:
      return dtype;
    case Domain::test:
      return DType::boolean;
    case Domain::number:
      expect_number(dtype, name);
      return dtype;
    case Domain::floating:
      expect_floating(dtype, name);
      return dtype;
    case Domain::boolean:
      expect_bool(dtype, fmt::format("the input of {}", name));
      return DType::boolean;
  }
  return dtype;
}

Shape broadcast_or_throw(const Shape& a, const Shape& b) {
  auto shape = broadcast(a, b);
  if (!shape) throw bad_input("the shapes {} and {} do not broadcast", a.str(), b.str());
  return *std::move(shape);
}

}  // namespace

DType result_of_activation(const Unary& activation, DType dtype) {
  const UnaryRecord& function = record_of(activation.fn);
  if (function.inputs == Domain::boolean || function.inputs == Domain::test)
    throw bad_input("{} is no activation", function.name);
  return result_of(function.inputs, dtype, function.name);
}

Types infer_types(const Unary& op, Inputs in) {
  expect_inputs(in, 1);
  const UnaryRecord& function = record_of(op.fn);
  return {{result_of(function.inputs, in[0].dtype, function.name), in[0].shape}};
}

Types infer_types(const Binary& op, Inputs in) {
  expect_inputs(in, 2);
  expect_one_dtype(in);
  const DType dtype = result_of(domain_of(op.fn), in[0].dtype, name_of(op.fn));
  return {{dtype, broadcast_or_throw(in[0].shape, in[1].shape)}};
}

Types infer_types(const Select&, Inputs in) {
  expect_inputs(in, 3);
  expect_bool(in[0].dtype, "the condition");
  expect_one_dtype(in.subspan(1));
  return {{in[1].dtype, broadcast_or_throw(in[0].shape, broadcast_or_throw(in[1].shape, in[2].shape))}};
}

Types infer_types(const Cast& op, Inputs in) {
  expect_inputs(in, 1);
  return {{op.dtype, in[0].shape}};
}

}  // namespace attn::graph
