// Arguments of operations as values: tensors, constant arrays, and Python numbers, whose dtype depends on the other
// operand.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "classes/call.h"
#include "classes/ops/promotion.h"

namespace attn::keras {

/// One argument of an operation. A nested list of numbers is a constant array, as in tf.convert_to_tensor.
class Operand {
 public:
  /// The argument `name` of a call. Throws Error (bad_input) if it is missing, or not a number, array or tensor.
  Operand(Call& call, std::string_view name) : Operand(call, call.arg(name), name) {}
  /// `name` is for messages.
  Operand(Call& call, const Arg& arg, std::string_view name);

  [[nodiscard]] Promoted type() const;
  /// Returns the operand's dtype as a separate tensor: int32 or float32 for a Python number.
  [[nodiscard]] DType own_dtype() const { return result_type({type()}); }
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] int rank() const { return shape().rank(); }
  /// Returns the value in `dtype`. Constants are converted immediately, without a node.
  [[nodiscard]] graph::ValueId as(DType dtype) const;
  /// Returns the value in its own dtype.
  [[nodiscard]] graph::ValueId value() const { return as(own_dtype()); }

 private:
  struct PythonNumber {
    double value;
    bool integral;
  };

  graph::Builder* builder_;
  std::variant<graph::ValueId, Tensor, PythonNumber> content_;
};

/// Returns the elements of a list argument. Throws Error (bad_input) if it is missing.
[[nodiscard]] std::vector<Operand> operands(Call& call, std::string_view name);
/// Returns the dtypes of all operands, for promotion.
[[nodiscard]] std::vector<Promoted> types_of(std::span<const Operand> operands);
/// Returns a number argument, such as a tolerance; `missing` is its default.
[[nodiscard]] double number_argument(Call& call, std::string_view name, double missing);

}  // namespace attn::keras
