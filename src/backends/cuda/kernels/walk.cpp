#include "walk.h"

#include <algorithm>

namespace attn::cuda {

Steps steps_of(const Shape& shape) {
  Steps steps(static_cast<std::size_t>(shape.rank()));
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    steps[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return steps;
}

Steps broadcast_steps(const Shape& shape, const Shape& broadcast) {
  const Steps own = steps_of(shape);
  Steps steps(static_cast<std::size_t>(broadcast.rank()), 0);
  const std::size_t added = steps.size() - own.size();
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    if (shape[static_cast<int>(axis)] != 1) steps[added + axis] = own[axis];
  }
  return steps;
}

Axes merged(const Axes& axes) {
  Axes result{{}, std::vector<Steps>(axes.steps.size())};
  for (std::size_t axis = 0; axis < axes.sizes.size(); ++axis) {
    const Dim size = axes.sizes[axis];
    if (size == 1) continue;
    bool joins = !result.sizes.empty();
    for (std::size_t o = 0; joins && o < axes.steps.size(); ++o) {
      joins = result.steps[o].back() == axes.steps[o][axis] * size;
    }
    if (joins) {
      result.sizes.back() *= size;
    } else {
      result.sizes.push_back(size);
    }
    for (std::size_t o = 0; o < axes.steps.size(); ++o) {
      if (joins) result.steps[o].pop_back();
      result.steps[o].push_back(axes.steps[o][axis]);
    }
  }
  return result;
}

std::optional<Rows> rows_of(const Shape& shape, std::span<const int> axes) {
  const Steps steps = steps_of(shape);
  Axes kept{{}, {{}}}, cut{{}, {{}}};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    Axes& side = std::ranges::find(axes, axis) != axes.end() ? cut : kept;
    side.sizes.push_back(shape[axis]);
    side.steps[0].push_back(steps[static_cast<std::size_t>(axis)]);
  }
  const auto starts = walk_over<1>(kept), along = walk_over<1>(cut);
  if (!starts || !along) return std::nullopt;
  return Rows{*starts, *along};
}

}  // namespace attn::cuda
