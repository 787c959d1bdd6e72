// A dense row-major array that owns, or keeps alive, its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"

namespace attn {

/// Alignment of every buffer that we allocate: a cache line, and the widest vector register.
inline constexpr std::size_t kAlignment = 64;

/// Zeroed, aligned memory; freed with the last copy of the pointer. Throws Error (no_memory) where it cannot be had.
[[nodiscard]] std::shared_ptr<std::byte> allocate_bytes(std::int64_t bytes);

/// Copies share the bytes. A tensor over bytes it does not own (a mapped file) holds their owner.
class Tensor {
 public:
  Tensor() = default;
  /// Zeros. The shape must be known.
  Tensor(DType dtype, Shape shape);
  /// Over existing bytes, which `bytes` keeps alive; they must hold shape.size() elements, suitably aligned.
  Tensor(DType dtype, Shape shape, std::shared_ptr<std::byte> bytes);

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return size_ * bytes_of(dtype_); }
  [[nodiscard]] std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] const std::shared_ptr<std::byte>& owner() const noexcept { return bytes_; }

  /// The elements as T; the dtype must be T's.
  template <typename T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(bytes_.get()), static_cast<std::size_t>(size_)};
  }

  /// Element i as a number, whatever the dtype (64-bit integers beyond 2^53 are rounded).
  [[nodiscard]] double at(std::int64_t i) const { return load(dtype_, data(), i); }
  /// Stores a number, rounded to the dtype (to nearest even; integers truncate and saturate, NaN
  /// becomes 0; bool is `value != 0`).
  void set(std::int64_t i, double value) const { store(dtype_, data(), i, value); }

  [[nodiscard]] static double load(DType dtype, const std::byte* data, std::int64_t i) noexcept;
  static void store(DType dtype, std::byte* data, std::int64_t i, double value) noexcept;

  /// The same bytes under another shape of as many elements.
  [[nodiscard]] Tensor reshaped(Shape shape) const;
  /// A copy in another dtype.
  [[nodiscard]] Tensor cast(DType dtype) const;

 private:
  DType dtype_ = DType::float32;
  Shape shape_{0};
  std::int64_t size_ = 0;
  std::shared_ptr<std::byte> bytes_;
};

/// A tensor with a name: what the array formats hold, and what goes in and out of a model.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace attn
