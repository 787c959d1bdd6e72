#include "classes/layers/axes.h"

#include <algorithm>

#include "attn/base/error.h"

namespace attn::keras {

int axis_of(std::int64_t axis, int rank) {
  const auto at = normalize_axis(axis, rank);
  if (!at) throw bad_input("axis {} is out of bounds for an input with {} axes", axis, rank);
  return *at;
}

std::vector<std::int64_t> listed(const Axes& axes) {
  if (const auto* one = std::get_if<std::int64_t>(&axes)) return {*one};
  return std::get<std::vector<std::int64_t>>(axes);
}

std::vector<int> axes_of(const Axes& axes, int rank) {
  std::vector<int> out;
  for (const std::int64_t axis : listed(axes)) out.push_back(axis_of(axis, rank));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) throw bad_input("an axis is listed twice");
  return out;
}

}  // namespace attn::keras
