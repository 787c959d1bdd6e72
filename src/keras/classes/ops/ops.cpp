#include "classes/ops/ops.h"

#include <algorithm>

namespace attn::keras {

int axis_in(std::int64_t axis, const Shape& shape) {
  const auto found = normalize_axis(axis, shape.rank());
  if (!found) throw bad_input("axis {} is outside of its input, whose shape is {}", axis, shape.str());
  return *found;
}

std::vector<std::int64_t> as_list(const Axes& axes) {
  if (const auto* axis = std::get_if<std::int64_t>(&axes)) return {*axis};
  return std::get<std::vector<std::int64_t>>(axes);
}

std::vector<int> axes_in(const std::optional<Axes>& axes, const Shape& shape) {
  std::vector<int> out;
  if (!axes) {
    for (int axis = 0; axis < shape.rank(); ++axis) out.push_back(axis);
    return out;
  }
  for (const std::int64_t axis : as_list(*axes)) out.push_back(axis_in(axis, shape));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    throw bad_input("an axis of ({}) is named twice", fmt::join(as_list(*axes), ", "));
  return out;
}

}  // namespace attn::keras
