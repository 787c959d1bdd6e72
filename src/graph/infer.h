// The shape rule of each operation, and their common checks. Private to the module.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/graph/graph.h"
#include "attn/graph/op.h"

namespace attn::graph {

using Types = std::vector<TensorType>;
using Inputs = std::span<const TensorType>;

#define ATTN_DECLARE(type, name) Types infer_types(const type& op, Inputs in);
ATTN_OPS(ATTN_DECLARE)
#undef ATTN_DECLARE

/// Checks the number of inputs. It is decided by attn's own lowering, so a mismatch is an internal error.
void expect_inputs(Inputs in, std::size_t count);
/// Checks that all inputs have the dtype of the first.
void expect_one_dtype(Inputs in);
/// Checks that `dtype` is a floating-point one; `what` is the subject of the sentence ("softmax").
void expect_floating(DType dtype, std::string_view what);
/// Checks that `dtype` is not bool.
void expect_number(DType dtype, std::string_view what);
/// Checks that `dtype` is bool.
void expect_bool(DType dtype, std::string_view what);
void expect_rank(const Shape& shape, int rank, std::string_view what);
/// Checks that `shape` fits `expected` axis by axis.
void expect_shape(const Shape& shape, const Shape& expected, std::string_view what);
/// Checks that `type` fits `expected` in dtype and shape.
void expect_type(const TensorType& type, const TensorType& expected, std::string_view what);
/// Checks that `axis` is in [0, rank).
void expect_axis(int axis, int rank);
/// Checks that the axes are in [0, rank) and strictly ascending.
void expect_axes(std::span<const int> axes, int rank);
/// Checks that no dimension stored in an operation is below kUnknown.
void expect_dims(const Shape& shape);

/// Returns whether the two dimensions can be equal once unknown dimensions are known.
[[nodiscard]] inline bool agree(Dim a, Dim b) noexcept { return a == kUnknown || b == kUnknown || a == b; }
/// Returns the result dtype of a fused activation, which is `dtype`. Throws Error (bad_input) if the activation does
/// not accept the dtype.
[[nodiscard]] DType result_of_activation(const Unary& activation, DType dtype);
/// Merges two dimensions that agree.
[[nodiscard]] inline Dim merge(Dim a, Dim b) noexcept { return a == kUnknown ? b : a; }
/// Returns a + b for dimensions, unknown if one is. Throws Error (no_memory) if the sum exceeds kMaxSize.
[[nodiscard]] Dim add_dims(Dim a, Dim b);

}  // namespace attn::graph
