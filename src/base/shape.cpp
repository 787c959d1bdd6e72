#include "attn/base/shape.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn {

Shape Shape::slice(int first, int last) const {
  return Shape(std::vector<Dim>(dims_.begin() + first, dims_.begin() + last));
}

bool Shape::known() const noexcept {
  return std::all_of(dims_.begin(), dims_.end(), [](Dim dim) { return dim >= 0; });
}

std::optional<std::int64_t> Shape::elements() const noexcept { return checked_product(dims_); }

std::int64_t Shape::size() const {
  if (!known()) throw internal_error("the size of shape {} was requested, but it is unknown", str());
  const auto count = elements();
  if (!count) throw Error(ExitCode::no_memory, fmt::format("a tensor of shape {} does not fit in memory", str()));
  return *count;
}

UInt128 Shape::count() const {
  if (!known()) throw internal_error("the elements of shape {} were requested, but the shape is unknown", str());
  constexpr UInt128 kMost =
      UInt128{1} << 124;  // the product of two sizes kMaxSize; the number of bytes fits into a UInt128
  UInt128 count = std::find(begin(), end(), 0) == end() ? 1 : 0;
  for (const Dim dim : dims_) {
    if (count == 0) break;
    if (static_cast<UInt128>(dim) > kMost / count)
      throw Error(ExitCode::no_memory, fmt::format("a tensor of shape {} has more than 2^124 elements", str()));
    count *= static_cast<UInt128>(dim);
  }
  return count;
}

std::string Shape::str() const {
  std::string text = "(";
  for (int axis = 0; axis < rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += (*this)[axis] == kUnknown ? "None" : std::to_string((*this)[axis]);
  }
  text += rank() == 1 ? ",)" : ")";
  return text;
}

std::optional<int> normalize_axis(std::int64_t axis, int rank) noexcept {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int axis = -1; axis >= -shorter.rank(); --axis) {
    const Dim other = shorter[axis];
    Dim& dim = result[axis];
    if (dim == other || other == 1 || (other == kUnknown && dim != 1)) continue;
    if (dim != 1 && dim != kUnknown) return std::nullopt;
    dim = other;
  }
  return result;
}

}  // namespace attn
