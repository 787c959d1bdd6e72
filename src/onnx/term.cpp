#include "term.h"

namespace attn::onnx {

Term Term::apply(std::string op, const std::vector<Term>& further, std::vector<Attribute> attributes) const {
  Names inputs{name};
  for (const Term& term : further) inputs.push_back(term.name);
  return {emitter, emitter->node(std::move(op), std::move(inputs), std::move(attributes)), dtype};
}

Term Term::test(std::string op, const std::vector<Term>& further) const {
  Term result = apply(std::move(op), further);
  result.dtype = DType::boolean;
  return result;
}

Term Term::cast(DType to) const { return {emitter, emitter->cast(name, dtype, to), to}; }

Term Term::number(double value) const { return {emitter, emitter->scalar(dtype, value), dtype}; }

Term operator+(const Term& x, const Term& y) { return x.apply("Add", {y}); }
Term operator-(const Term& x, const Term& y) { return x.apply("Sub", {y}); }
Term operator*(const Term& x, const Term& y) { return x.apply("Mul", {y}); }
Term operator/(const Term& x, const Term& y) { return x.apply("Div", {y}); }
Term operator+(const Term& x, double y) { return x + x.number(y); }
Term operator-(const Term& x, double y) { return x - x.number(y); }
Term operator*(const Term& x, double y) { return x * x.number(y); }
Term operator/(const Term& x, double y) { return x / x.number(y); }
Term operator-(const Term& x) { return x.apply("Neg"); }
Term operator<(const Term& x, const Term& y) { return x.test("Less", {y}); }
Term operator<(const Term& x, double y) { return x < x.number(y); }
Term operator>(const Term& x, double y) { return x.test("Greater", {x.number(y)}); }
Term operator&&(const Term& x, const Term& y) { return x.apply("And", {y}); }
Term operator||(const Term& x, const Term& y) { return x.apply("Or", {y}); }
Term operator!(const Term& x) { return x.apply("Not"); }
Term equal(const Term& x, double y) { return x.test("Equal", {x.number(y)}); }
Term exp(const Term& x) { return x.apply("Exp"); }
Term sqrt(const Term& x) { return x.apply("Sqrt"); }
Term log(const Term& x) { return x.apply("Log"); }

Term where(const Term& condition, const Term& x, const Term& y) {
  return {x.emitter, x.emitter->node("Where", {condition.name, x.name, y.name}), x.dtype};
}

}  // namespace attn::onnx
