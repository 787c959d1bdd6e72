// Element types, with Keras's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attn {

enum class DType : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  int64,
  int32,
  int16,
  int8,
  uint64,
  uint32,
  uint16,
  uint8,
  boolean
};

/// Returns Keras's name: "float32", "bfloat16", "bool", …
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;
/// Returns the dtype of a Keras name, or nothing.
[[nodiscard]] std::optional<DType> dtype_of(std::string_view name) noexcept;
/// Returns the bytes of one element.
[[nodiscard]] std::int64_t bytes_of(DType dtype) noexcept;
[[nodiscard]] bool is_floating(DType dtype) noexcept;
[[nodiscard]] bool is_integer(DType dtype) noexcept;  ///< excluding bool
[[nodiscard]] bool is_signed(DType dtype) noexcept;   ///< int8 … int64

/// Conversions between a 16-bit pattern and a number, rounding to nearest even; NaN stays NaN.
[[nodiscard]] float bfloat16_to_float(std::uint16_t bits) noexcept;
[[nodiscard]] std::uint16_t float_to_bfloat16(float value) noexcept;
[[nodiscard]] float float16_to_float(std::uint16_t bits) noexcept;
[[nodiscard]] std::uint16_t float_to_float16(float value) noexcept;
/// Converts from double in one rounding; going through float would round twice.
[[nodiscard]] std::uint16_t double_to_bfloat16(double value) noexcept;
[[nodiscard]] std::uint16_t double_to_float16(double value) noexcept;

}  // namespace attn
