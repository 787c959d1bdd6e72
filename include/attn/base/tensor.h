// A dense row-major array that owns its bytes or keeps them alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"

namespace attn {

/// Returns true if T has the dtype, or is an unsigned integer of its width, which reads its bits. A class names its
/// dtype as T::kDType.
template <typename T>
[[nodiscard]] bool is_element_of(DType dtype) noexcept {
  if constexpr (std::is_same_v<T, double>) return dtype == DType::float64;
  if constexpr (std::is_same_v<T, float>) return dtype == DType::float32;
  if constexpr (std::is_same_v<T, bool>) return dtype == DType::boolean;
  if constexpr (std::is_signed_v<T>) return is_signed(dtype) && sizeof(T) == static_cast<std::size_t>(bytes_of(dtype));
  if constexpr (std::is_unsigned_v<T>) return sizeof(T) == static_cast<std::size_t>(bytes_of(dtype));
  if constexpr (std::is_class_v<T>) return dtype == T::kDType;
}

/// The alignment of every allocated buffer: a cache line, and the widest vector register.
inline constexpr std::size_t kAlignment = 64;

/// Returns zeroed, aligned memory; freed with the last copy of the pointer. Throws Error (no_memory) on failure.
[[nodiscard]] std::shared_ptr<std::byte> allocate_bytes(std::int64_t bytes);

/// A dense array. Copies share the bytes. A tensor over bytes that it did not allocate, such as a mapped file, keeps
/// their owner alive.
class Tensor {
 public:
  Tensor() = default;
  /// Creates a tensor of zeros. The shape must be known.
  Tensor(DType dtype, Shape shape);
  /// Wraps existing bytes, which `bytes` keeps alive; they must hold shape.size() elements, suitably aligned.
  Tensor(DType dtype, Shape shape, std::shared_ptr<std::byte> bytes);

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return size_ * bytes_of(dtype_); }
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] const std::shared_ptr<std::byte>& owner() const noexcept { return bytes_; }

  /// Returns a view of the elements. T is the C++ type of the dtype, or an unsigned integer of the same width for
  /// access to the bits. Throws Error (internal) for any other T, so callers check or cast a tensor from a file first.
  template <typename T>
  [[nodiscard]] std::span<T> as() const {
    if (!is_element_of<std::remove_const_t<T>>(dtype_)) throw_wrong_type();
    return {reinterpret_cast<T*>(bytes_.get()), static_cast<std::size_t>(size_)};
  }

  /// Returns element i as a double for any dtype (64-bit integers beyond 2^53 are rounded).
  [[nodiscard]] double at(std::int64_t i) const { return load(dtype_, data(), i); }
  /// Stores a number, rounded to the dtype: floats to nearest even; integers truncate and saturate, and NaN becomes 0;
  /// bool is `value != 0`.
  void set(std::int64_t i, double value) const { store(dtype_, data(), i, value); }

  [[nodiscard]] static double load(DType dtype, const std::byte* data, std::int64_t i) noexcept;
  static void store(DType dtype, std::byte* data, std::int64_t i, double value) noexcept;

  /// Returns the same bytes under another shape with the same number of elements.
  [[nodiscard]] Tensor reshaped(Shape shape) const;
  /// Returns a copy in another dtype.
  [[nodiscard]] Tensor cast(DType dtype) const;

 private:
  [[noreturn]] void throw_wrong_type() const;

  DType dtype_ = DType::float32;
  Shape shape_{0};
  std::int64_t size_ = 0;
  std::shared_ptr<std::byte> bytes_;
};

/// A tensor with a name: an array in a file, or an input or output of a model.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace attn
