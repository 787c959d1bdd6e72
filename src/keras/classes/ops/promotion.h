// keras.backend.result_type: the common dtype of several values.
#pragma once

#include <initializer_list>
#include <span>

#include "attn/base/dtype.h"

namespace attn::keras {

/// A dtype during promotion. A Python number is weak: it takes the dtype of the other operand, unless that is an
/// integer and the number is a float.
struct Promoted {
  DType dtype = DType::float32;
  bool weak = false;
  Promoted(DType d, bool w = false) : dtype(d), weak(w) {}  // NOLINT: stands for a dtype
};

inline const Promoted kPythonInt{DType::int64, true};
inline const Promoted kPythonFloat{DType::float32, true};

/// Returns the smallest dtype to which all of `types` promote; floatx is float32. `types` must not be empty.
[[nodiscard]] DType result_type(std::span<const Promoted> types);
[[nodiscard]] inline DType result_type(std::initializer_list<Promoted> types) {
  return result_type(std::span<const Promoted>(types.begin(), types.size()));
}

/// Maps the dtype of an input to the dtype of the computation.
using DTypeRule = DType (*)(DType);
[[nodiscard]] inline DType same(DType dtype) { return dtype; }
[[nodiscard]] inline DType as_boolean(DType) { return DType::boolean; }
[[nodiscard]] inline DType as_number(DType dtype) { return dtype == DType::boolean ? DType::int32 : dtype; }
[[nodiscard]] inline DType as_floating(DType dtype) { return result_type({dtype, kPythonFloat}); }
/// Promotes `dtype` as as_floating() does, but int64 becomes float64.
[[nodiscard]] inline DType as_wide_floating(DType dtype) {
  return dtype == DType::int64 ? DType::float64 : as_floating(dtype);
}
/// Returns the dtype of sums and products: small integers are summed in 32 bits.
[[nodiscard]] DType as_accumulator(DType dtype);
/// Returns the dtype for precise computations: float32 for half precision and integers. Results are cast back.
[[nodiscard]] inline DType as_precise(DType dtype) { return result_type({dtype, DType::float32}); }

}  // namespace attn::keras
