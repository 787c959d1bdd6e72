// Formulas over values of the ONNX graph: `x * sigmoid` adds the necessary nodes.
#pragma once

#include "emitter.h"

namespace attn::onnx {

struct Term {
  Emitter* emitter = nullptr;
  Name name;
  DType dtype = DType::float32;

  /// Adds a node with one output. Its inputs are this term and then `further`.
  [[nodiscard]] Term apply(std::string op, const std::vector<Term>& further = {},
                           std::vector<Attribute> attributes = {}) const;
  /// Adds a node with one bool output. Its inputs are this term and then `further`.
  [[nodiscard]] Term test(std::string op, const std::vector<Term>& further = {}) const;
  [[nodiscard]] Term cast(DType to) const;
  /// Returns a constant of this term's dtype.
  [[nodiscard]] Term number(double value) const;
};

Term operator+(const Term& x, const Term& y);
Term operator-(const Term& x, const Term& y);
Term operator*(const Term& x, const Term& y);
Term operator/(const Term& x, const Term& y);
Term operator+(const Term& x, double y);
Term operator-(const Term& x, double y);
Term operator*(const Term& x, double y);
Term operator/(const Term& x, double y);
Term operator-(const Term& x);
Term operator<(const Term& x, const Term& y);
Term operator<(const Term& x, double y);
Term operator>(const Term& x, double y);
Term operator&&(const Term& x, const Term& y);
Term operator||(const Term& x, const Term& y);
Term operator!(const Term& x);
Term equal(const Term& x, double y);
Term where(const Term& condition, const Term& x, const Term& y);
Term exp(const Term& x);
Term sqrt(const Term& x);
Term log(const Term& x);

}  // namespace attn::onnx
