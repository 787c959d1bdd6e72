// Shapes with dimensions that may be unknown (Keras's None).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/size.h"

namespace attn {

using Dim = std::int64_t;
/// A dimension that is known only when the model runs; Keras prints None.
inline constexpr Dim kUnknown = -1;

/// Dimensions, outermost first. Row-major throughout.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}

  [[nodiscard]] int rank() const noexcept { return static_cast<int>(dims_.size()); }
  /// Returns the dimension at `axis`; negative axes count from the end. The axis must be in range.
  [[nodiscard]] Dim operator[](int axis) const { return dims_[index(axis)]; }
  Dim& operator[](int axis) { return dims_[index(axis)]; }
  [[nodiscard]] Dim back() const { return dims_.back(); }
  [[nodiscard]] const std::vector<Dim>& dims() const noexcept { return dims_; }
  [[nodiscard]] auto begin() const noexcept { return dims_.begin(); }
  [[nodiscard]] auto end() const noexcept { return dims_.end(); }
  void push_back(Dim dim) { dims_.push_back(dim); }
  void append(const Shape& other) { dims_.insert(dims_.end(), other.begin(), other.end()); }
  /// Returns dimensions [first, last).
  [[nodiscard]] Shape slice(int first, int last) const;

  [[nodiscard]] bool known() const noexcept;
  /// Returns the number of elements; nothing if a dimension is unknown or the product exceeds kMaxSize.
  [[nodiscard]] std::optional<std::int64_t> elements() const noexcept;
  /// Returns the number of elements of a known shape. Throws Error (no_memory) if it exceeds kMaxSize.
  [[nodiscard]] std::int64_t size() const;
  /// Returns the number of elements for display, not for allocation. Throws Error (no_memory) if it exceeds 2^124.
  [[nodiscard]] UInt128 count() const;
  /// Formats the shape like a Python tuple: "(None, 50, 512)", "(3,)", "()".
  [[nodiscard]] std::string str() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  [[nodiscard]] std::size_t index(int axis) const { return static_cast<std::size_t>(axis < 0 ? axis + rank() : axis); }
  std::vector<Dim> dims_;
};

/// Returns `axis` counted from the front, or nothing if it is outside [-rank, rank).
[[nodiscard]] std::optional<int> normalize_axis(std::int64_t axis, int rank) noexcept;

/// Returns the NumPy broadcast of two shapes; nothing if they are incompatible. An unknown dimension takes a known size
/// other than 1, and stays unknown against 1.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace attn
