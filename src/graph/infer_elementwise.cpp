#include "attn/base/error.h"
#include "infer.h"

namespace attn::graph {
namespace {

enum class Domain : std::uint8_t { any, number, floating, boolean };

struct Rule {
  Domain domain;
  bool to_bool;
};

// These functions do not map integers to integers: a cast must come first, at the place where Keras casts.
constexpr Rule kFloating{Domain::floating, false};
constexpr Rule kNumber{Domain::number, false};

Rule rule_of(UnaryFn fn) {
  switch (fn) {
    case UnaryFn::linear:
      return {Domain::any, false};
    case UnaryFn::relu:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::square:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::clip:
      return kNumber;
    case UnaryFn::logical_not:
      return {Domain::boolean, true};
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return {Domain::any, true};
    default:
      return kFloating;
  }
}

Rule rule_of(BinaryFn fn) {
  switch (fn) {
    case BinaryFn::divide:
    case BinaryFn::atan2:
      return kFloating;
    case BinaryFn::subtract:
    case BinaryFn::floor_divide:
    case BinaryFn::mod:
    case BinaryFn::power:
      return kNumber;
    case BinaryFn::add:  // NumPy adds two bool as "or" and multiplies them as "and"
    case BinaryFn::multiply:
    case BinaryFn::maximum:
    case BinaryFn::minimum:
      return {Domain::any, false};
    case BinaryFn::equal:
    case BinaryFn::not_equal:
    case BinaryFn::less:
    case BinaryFn::less_equal:
    case BinaryFn::greater:
    case BinaryFn::greater_equal:
      return {Domain::any, true};
    case BinaryFn::logical_and:
    case BinaryFn::logical_or:
    case BinaryFn::logical_xor:
      return {Domain::boolean, true};
  }
  return kNumber;
}

DType result_of(Rule rule, DType dtype, std::string_view name) {
  switch (rule.domain) {
    case Domain::any:
      break;
    case Domain::number:
      expect_number(dtype, name);
      break;
    case Domain::floating:
      expect_floating(dtype, name);
      break;
    case Domain::boolean:
      expect_bool(dtype, fmt::format("the input of {}", name));
      break;
  }
  return rule.to_bool ? DType::boolean : dtype;
}

Shape broadcast_or_throw(const Shape& a, const Shape& b) {
  auto shape = broadcast(a, b);
  if (!shape) throw bad_input("the shapes {} and {} do not broadcast", a.str(), b.str());
  return *std::move(shape);
}

}  // namespace

DType result_of_activation(const Unary& activation, DType dtype) {
  const Rule rule = rule_of(activation.fn);
  if (rule.to_bool) throw bad_input("{} is no activation", name_of(activation.fn));
  return result_of(rule, dtype, name_of(activation.fn));
}

Types infer_types(const Unary& op, Inputs in) {
  expect_inputs(in, 1);
  return {{result_of(rule_of(op.fn), in[0].dtype, name_of(op.fn)), in[0].shape}};
}

Types infer_types(const Binary& op, Inputs in) {
  expect_inputs(in, 2);
  expect_one_dtype(in);
  const DType dtype = result_of(rule_of(op.fn), in[0].dtype, name_of(op.fn));
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
