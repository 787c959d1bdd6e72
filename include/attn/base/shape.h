// Shapes, in which a dimension may be unknown (Keras's None).
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
/// A dimension that is only known when the model runs; Keras writes None.
inline constexpr Dim kUnknown = -1;

/// Dimensions, outermost first. Row-major throughout.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}

  [[nodiscard]] int rank() const noexcept { return static_cast<int>(dims_.size()); }
  /// The dimension at `axis`; negative axes count from the back. The axis must be in range.
  [[nodiscard]] Dim operator[](int axis) const { return dims_[index(axis)]; }
  Dim& operator[](int axis) { return dims_[index(axis)]; }
  [[nodiscard]] Dim back() const { return dims_.back(); }
  [[nodiscard]] const std::vector<Dim>& dims() const noexcept { return dims_; }
  [[nodiscard]] auto begin() const noexcept { return dims_.begin(); }
  [[nodiscard]] auto end() const noexcept { return dims_.end(); }
  void push_back(Dim dim) { dims_.push_back(dim); }
  void append(const Shape& other) { dims_.insert(dims_.end(), other.begin(), other.end()); }
  /// Dimensions [first, last).
  [[nodiscard]] Shape slice(int first, int last) const;

  [[nodiscard]] bool known() const noexcept;
  /// The number of elements; nothing where a dimension is unknown or the product passes kMaxSize.
  [[nodiscard]] std::optional<std::int64_t> elements() const noexcept;
  /// The number of elements of a known shape. Throws Error (no_memory) where it passes kMaxSize.
  [[nodiscard]] std::int64_t size() const;
  /// The same as a number to tell, of a tensor that nobody makes. Throws Error (no_memory) where it passes 2^124.
  [[nodiscard]] UInt128 count() const;
  /// As Python prints the tuple: "(None, 50, 512)", "(3,)", "()".
  [[nodiscard]] std::string str() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  [[nodiscard]] std::size_t index(int axis) const { return static_cast<std::size_t>(axis < 0 ? axis + rank() : axis); }
  std::vector<Dim> dims_;
};

/// `axis` counted from the front, or nothing where it is outside [-rank, rank).
[[nodiscard]] std::optional<int> normalize_axis(std::int64_t axis, int rank) noexcept;

/// The NumPy broadcast of two shapes; nothing where they do not fit. An unknown dimension meets a known one other
/// than 1 as that one, and meets 1 as unknown.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace attn
