#include "step.h"

#include <numeric>

#include "attn/base/error.h"

namespace attn::gradients {

ValueId Step::dy(std::size_t i) {
  if (dy_[i] == graph::kNone) dy_[i] = zeros_like(node_.outputs[i]);
  return dy_[i];
}

void Step::give(std::size_t i, ValueId dx) {
  if (!wants_[i]) return;
  if (b.shape(dx) != b.shape(x(i)) || b.dtype(dx) != b.dtype(x(i)))
    throw internal_error("the gradient of input {} of {} is {} {} instead of {} {}", i, graph::name_of(node_.op),
                         name_of(b.dtype(dx)), b.shape(dx).str(), name_of(b.dtype(x(i))), b.shape(x(i)).str());
  dx_[i] = dx;
}

void Step::give_unbroadcast(std::size_t i, ValueId dx) {
  if (wants_[i]) give(i, unbroadcast(dx, b.shape(x(i))));
}

ValueId Step::broadcast(ValueId x, const Shape& shape) {
  return b.shape(x) == shape ? x : b.apply(graph::Broadcast{shape}, {x});
}

ValueId Step::sum(ValueId x, std::vector<int> axes, bool keepdims) {
  return axes.empty() ? x : b.apply(graph::Reduce{graph::ReduceFn::sum, std::move(axes), keepdims}, {x});
}

ValueId Step::unbroadcast(ValueId x, const Shape& to) {
  const Shape from = b.shape(x);
  const int extra = from.rank() - to.rank();
  std::vector<int> axes;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (axis < extra || (to[axis - extra] == 1 && from[axis] != 1)) axes.push_back(axis);
  return b.reshape(sum(x, std::move(axes)), to);
}

std::vector<int> all_axes(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::vector<int> inverse(const std::vector<int>& permutation) {
  std::vector<int> out(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    out[static_cast<std::size_t>(permutation[i])] = static_cast<int>(i);
  return out;
}

}  // namespace attn::gradients
