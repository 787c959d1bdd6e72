// Bitwise operations on integers (keras.ops.bitwise_and and others), by arithmetic that is exact and wraps as bitwise
// operations do.
#include <cmath>

#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::Builder;

inline constexpr std::array<std::string_view, 2> kXY = {"x", "y"};

void expect_integers(DType dtype) {
  if (!is_integer(dtype)) throw bad_input("bits are of integers, got {}", name_of(dtype));
}
int width_of(DType dtype) { return static_cast<int>(bytes_of(dtype)) * 8; }
bool is_unsigned(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64;
}
/// Returns the dtype for operations on bits: uint64 for uint64, and int64 for all other integers, which it can
/// represent.
DType wide(DType dtype) { return dtype == DType::uint64 ? dtype : DType::int64; }

/// Returns Σ over `bits` bits of 2ᵇ·xᵇ·yᵇ. The sign of a negative number represents all higher bits.
Expression common_of(const Expression& x, const Expression& y, int bits, bool with_sign) {
  Builder& b = *x.builder;
  Tensor powers(x.dtype(), {bits});
  double power = 1.0;
  for (int bit = 0; bit < bits; ++bit, power *= 2.0) powers.set(bit, power);
  const Expression at{b, b.constant(std::move(powers))};
  const auto bits_of = [&](const Expression& of) {
    const Expression column{b, b.expand_dims(of, -1)};
    return column.binary(BinaryFn::floor_divide, at).binary(BinaryFn::mod, at.number(2.0));
  };
  const Expression both = bits_of(x) * bits_of(y) * at;
  const Expression sum = both.reduced({graph::ReduceFn::sum, {both.shape().rank() - 1}, false});
  return with_sign ? where((x < 0.0) & (y < 0.0), sum + sum.number(-power), sum) : sum;
}

Expression common_bits(const Expression& x, const Expression& y, DType dtype) {
  const int bits = width_of(dtype) - (is_unsigned(dtype) ? 0 : 1);
  constexpr int kHalf = 32;
  if (bits <= kHalf) return common_of(x, y, bits, !is_unsigned(dtype));
  // The sum is computed in two halves, because runtimes that add integers as doubles are exact only up to 2⁵³.
  const auto low = [&](const Expression& of) { return of.binary(BinaryFn::mod, of.number(std::ldexp(1.0, kHalf))); };
  const auto high = [&](const Expression& of) {
    return of.binary(BinaryFn::floor_divide, of.number(std::ldexp(1.0, kHalf)));
  };
  return common_of(high(x), high(y), bits - kHalf, !is_unsigned(dtype)) * std::ldexp(1.0, kHalf) +
         common_of(low(x), low(y), kHalf, false);
}

using BitRule = Expression (*)(const Expression&, const Expression&, DType);

Expression any_bits(const Expression& x, const Expression& y, DType dtype) { return x + y - common_bits(x, y, dtype); }
Expression differing_bits(const Expression& x, const Expression& y, DType dtype) {
  return x + y - common_bits(x, y, dtype) * 2.0;
}

/// Clamps shifts to the number of bits, as in TensorFlow.
Expression bounded(const Expression& y, DType dtype) {
  return min(max(y, y.number(0.0)), y.number(static_cast<double>(width_of(dtype) - 1)));
}
Expression power_of_two(const Expression& y) { return pow(y.number(2.0), y); }
Expression shifted_left(const Expression& x, const Expression& y, DType dtype) {
  return x * power_of_two(bounded(y, dtype));
}
Expression shifted_right(const Expression& x, const Expression& y, DType dtype) {
  // The division is done in two steps, because 2⁶³ is not an int64.
  const Expression by = bounded(y, dtype), half = by.binary(BinaryFn::floor_divide, by.number(2.0));
  return x.binary(BinaryFn::floor_divide, power_of_two(half)).binary(BinaryFn::floor_divide, power_of_two(by - half));
}

template <BitRule kRule>
class BitwiseOperation : public WithArguments<kXY> {
 public:
  Arg call(Call& call) override {
    const Operand x(call, "x"), y(call, "y");
    const DType dtype = result_type({x.type(), y.type()});
    expect_integers(dtype);
    Builder& b = call.builder();
    // Operands are cast to their common dtype before they are widened, so that numbers outside its range wrap.
    const auto widened = [&](const Operand& of) { return Expression{b, b.cast(of.as(dtype), wide(dtype))}; };
    return Call::result(kRule(widened(x), widened(y), dtype).cast(dtype));
  }
};

class BitwiseNot : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    const Operand given(call, "x");
    const DType dtype = given.own_dtype();
    expect_integers(dtype);
    Builder& b = call.builder();
    const Expression x{b, b.cast(given.value(), wide(dtype))};
    return Call::result((-(x + 1.0)).cast(dtype));
  }
};

constexpr std::array kBitOperations = {
    unnamed_before_311("BitwiseAnd", make_layer<BitwiseOperation<common_bits>>, 306, kNumpyOps),
    unnamed_before_311("BitwiseOr", make_layer<BitwiseOperation<any_bits>>, 306, kNumpyOps),
    unnamed_before_311("BitwiseXor", make_layer<BitwiseOperation<differing_bits>>, 306, kNumpyOps),
    unnamed_before_311("BitwiseNot", make_layer<BitwiseNot>, 306, kNumpyOps),
    unnamed_before_311("BitwiseInvert", make_layer<BitwiseNot>, 306, kNumpyOps),
    unnamed_before_311("BitwiseLeftShift", make_layer<BitwiseOperation<shifted_left>>, 306, kNumpyOps),
    unnamed_before_311("LeftShift", make_layer<BitwiseOperation<shifted_left>>, 306, kNumpyOps),
    unnamed_before_311("BitwiseRightShift", make_layer<BitwiseOperation<shifted_right>>, 306, kNumpyOps),
    unnamed_before_311("RightShift", make_layer<BitwiseOperation<shifted_right>>, 306, kNumpyOps),
};

}  // namespace

Family bit_operations() { return kBitOperations; }

}  // namespace attn::keras
