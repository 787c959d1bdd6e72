// keras.backend.result_type: the dtype in which values of several dtypes meet.
#pragma once

#include <initializer_list>
#include <span>

#include "attn/base/dtype.h"

namespace attn::keras {

/// A dtype on its way through promotion. A Python number is weak: it takes the dtype of what it meets, unless that
/// cannot hold its kind (a float meets an integer).
struct Promoted {
  DType dtype = DType::float32;
  bool weak = false;
  Promoted(DType d, bool w = false) : dtype(d), weak(w) {}  // NOLINT: stands for a dtype
};

inline const Promoted kPythonInt{DType::int64, true};
inline const Promoted kPythonFloat{DType::float32, true};

/// The least dtype that all of `types` may become; floatx is float32. At least one type.
[[nodiscard]] DType result_type(std::span<const Promoted> types);
[[nodiscard]] inline DType result_type(std::initializer_list<Promoted> types) {
  return result_type(std::span<const Promoted>(types.begin(), types.size()));
}

/// How the dtype of an input decides in which one an operation computes.
using DTypeRule = DType (*)(DType);
[[nodiscard]] inline DType same(DType dtype) { return dtype; }
[[nodiscard]] inline DType as_boolean(DType) { return DType::boolean; }
[[nodiscard]] inline DType as_number(DType dtype) { return dtype == DType::boolean ? DType::int32 : dtype; }
[[nodiscard]] inline DType as_floating(DType dtype) { return result_type({dtype, kPythonFloat}); }
/// The same, but int64 goes to float64.
[[nodiscard]] inline DType as_wide_floating(DType dtype) {
  return dtype == DType::int64 ? DType::float64 : as_floating(dtype);
}
/// Sums and products of small integers are made in 32 bits.
[[nodiscard]] DType as_accumulator(DType dtype);
/// Half precision computes in float32 (and casts back), integers too.
[[nodiscard]] inline DType as_precise(DType dtype) { return result_type({dtype, DType::float32}); }

}  // namespace attn::keras
