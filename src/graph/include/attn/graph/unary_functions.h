// The functions of one number, with one row for each. Their values and derivatives are in formulas.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace attn::graph {

// clang-format off
/// ROW(name, inputs, cost, cost of the derivative, ONNX operator) for each function; formulas are those of
/// keras.activations and keras.ops, with a, b and c of Unary. `inputs` is a Domain. A cost counts the arithmetic
/// operations of an element; comparisons and selections are free. The ONNX operator has the function's meaning without
/// attributes; it is empty where src/onnx/elementwise.cpp builds the function from several operators.
#define ATTN_UNARY_FUNCTIONS(ROW) \
  /* activations */ \
  ROW(linear, any, 0, 0, "") \
  ROW(relu, number, 2, 0, "")                      /* x > b ? min(x, c) : a·(x − b), without a bound for c = ∞ */ \
  ROW(elu, floating, 2, 2, "")                     /* x > 0 ? x : a·(eˣ − 1) */ \
  ROW(celu, floating, 4, 3, "")                    /* max(0, x) + min(0, a·(e^(x/a) − 1)) */ \
  ROW(selu, floating, 3, 3, "Selu")                /* c·(x > 0 ? x : a·(eˣ − 1)) */ \
  ROW(gelu, floating, 4, 9, "")                    /* x·Φ(x) by erf */ \
  ROW(gelu_tanh, floating, 9, 18, "")              /* ½·x·(1 + tanh(c·(x + d·x·x·x))) */ \
  ROW(silu, floating, 4, 7, "")                    /* x·sigmoid(x) */ \
  ROW(sigmoid, floating, 3, 5, "Sigmoid")          /* 1/(1 + e⁻ˣ) */ \
  ROW(tanh, floating, 1, 3, "Tanh") \
  ROW(softplus, floating, 3, 3, "Softplus")        /* max(x, 0) + log1p(e^−|x|) */ \
  ROW(softsign, floating, 2, 3, "Softsign")        /* x/(1 + |x|) */ \
  ROW(exponential, floating, 1, 1, "Exp") \
  ROW(hard_sigmoid, floating, 4, 1, "")            /* min(max(x + a, 0), 2a)/2a; 3 for an a of 0; Keras 2 has 2.5 */ \
  ROW(hard_silu, floating, 5, 7, "") \
  ROW(hard_tanh, floating, 0, 0, "") \
  ROW(log_sigmoid, floating, 3, 3, "")             /* −softplus(−x) */ \
  ROW(mish, floating, 5, 12, "")                   /* x·tanh(softplus(x)) */ \
  ROW(hard_shrink, floating, 0, 0, "")             /* |x| > a ? x : 0 */ \
  ROW(soft_shrink, floating, 1, 0, "")             /* sign(x)·max(|x| − a, 0) */ \
  ROW(tanh_shrink, floating, 2, 2, "")             /* x − tanh(x) */ \
  ROW(threshold, floating, 0, 0, "")               /* x > a ? x : b */ \
  ROW(squareplus, floating, 5, 7, "")              /* (x + √(x² + a)) / 2 */ \
  ROW(sparse_plus, floating, 4, 2, "")             /* 0 below −1, x above 1, else (x + 1)²/4 */ \
  ROW(sparse_sigmoid, floating, 2, 0, "")          /* 0 below −1, 1 above 1, else (x + 1)/2 */ \
  /* arithmetic */ \
  ROW(absolute, number, 0, 0, "Abs") \
  ROW(negative, number, 0, 0, "Neg") \
  ROW(expm1, floating, 1, 1, "") \
  ROW(log, floating, 1, 1, "Log") \
  ROW(log1p, floating, 1, 2, "") \
  ROW(log2, floating, 1, 2, "") \
  ROW(log10, floating, 1, 2, "") \
  ROW(sqrt, floating, 1, 3, "Sqrt") \
  ROW(rsqrt, floating, 2, 5, "") \
  ROW(square, number, 1, 1, "") \
  ROW(reciprocal, floating, 1, 2, "Reciprocal") \
  ROW(sin, floating, 1, 1, "Sin") \
  ROW(cos, floating, 1, 1, "Cos") \
  ROW(tan, floating, 1, 3, "Tan") \
  ROW(asin, floating, 1, 4, "Asin") \
  ROW(acos, floating, 1, 4, "Acos") \
  ROW(atan, floating, 1, 3, "Atan") \
  ROW(sinh, floating, 1, 1, "Sinh") \
  ROW(cosh, floating, 1, 1, "Cosh") \
  ROW(asinh, floating, 1, 4, "Asinh") \
  ROW(acosh, floating, 1, 4, "Acosh") \
  ROW(atanh, floating, 1, 3, "Atanh") \
  ROW(erf, floating, 1, 3, "Erf") \
  ROW(floor, number, 0, 0, "Floor") \
  ROW(ceil, number, 0, 0, "Ceil") \
  ROW(round, number, 0, 0, "Round") \
  ROW(trunc, number, 0, 0, "") \
  ROW(sign, number, 0, 0, "Sign") \
  ROW(clip, number, 0, 0, "")                      /* min(max(x, a), b) */ \
  ROW(float8_e4m3fn, floating, 2, 0, "")           /* to that format, ties to even; at most ±448 */ \
  /* to bool */ \
  ROW(logical_not, boolean, 0, 0, "") \
  ROW(isnan, test, 0, 0, "") \
  ROW(isinf, test, 0, 0, "") \
  ROW(isfinite, test, 0, 0, "")

// clang-format on

enum class UnaryFn : std::uint8_t {
#define ATTN_ENUMERATOR(name, ...) name,
  ATTN_UNARY_FUNCTIONS(ATTN_ENUMERATOR)
#undef ATTN_ENUMERATOR
};

/// All functions of one number.
inline constexpr std::array kUnaryFns{
#define ATTN_ELEMENT(name, ...) UnaryFn::name,
    ATTN_UNARY_FUNCTIONS(ATTN_ELEMENT)
#undef ATTN_ELEMENT
};

/// The dtypes that a function takes. Functions of floating numbers do not convert integers: a Cast comes before, at the
/// place where Keras casts.
enum class Domain : std::uint8_t {
  any,
  number,  // all dtypes except bool
  floating,
  boolean,  // bool only; the result is bool
  test      // any dtype; the result is bool
};

/// The properties of a function besides its formula.
struct UnaryRecord {
  std::string_view name;
  Domain inputs;
  std::int8_t cost, derivative_cost;
  std::string_view onnx;
};

[[nodiscard]] const UnaryRecord& record_of(UnaryFn fn) noexcept;

}  // namespace attn::graph
