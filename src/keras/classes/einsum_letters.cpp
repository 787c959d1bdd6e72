#include "classes/einsum_letters.h"

#include <algorithm>

namespace attn::keras {
int EinsumLetters::contracted() const {
  const auto repeats = [](std::string letters) {
    std::sort(letters.begin(), letters.end());
    return std::adjacent_find(letters.begin(), letters.end()) != letters.end();
  };
  if (repeats(in) || repeats(kernel)) return 0;
  for (std::size_t n = 1; n <= std::min(in.size(), kernel.size()); ++n) {
    const std::string rest = in.substr(0, in.size() - n), units = kernel.substr(n);
    if (in.substr(in.size() - n) == kernel.substr(0, n) && out == rest + units &&
        units.find_first_of(in) == std::string::npos)
      return static_cast<int>(n);
  }
  return 0;
}

std::vector<int> EinsumLetters::summed() const {
  std::vector<int> axes;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (!contains(out, kernel[i])) axes.push_back(static_cast<int>(i));
  return axes;
}

Shape EinsumLetters::scale_shape(const Shape& of_kernel) const {
  std::vector<int> expanded, order, squeezed;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = kernel.find(out[i]);
    if (at == std::string::npos) {
      expanded.push_back(static_cast<int>(i));
    } else {
      order.push_back(static_cast<int>(at));
    }
  }
  int index = 0;
  for (const int axis : summed()) {
    if (expanded.empty()) {
      squeezed.push_back(axis);
    } else {
      index = expanded.front();
      expanded.erase(expanded.begin());
    }
    order.insert(order.begin() + std::min<std::ptrdiff_t>(index, std::ssize(order)), axis);
  }
  std::vector<Dim> sizes;
  for (const int axis : order)
    sizes.push_back(contains(out, kernel[static_cast<std::size_t>(axis)]) ? of_kernel[axis] : 1);
  for (const int axis : expanded) sizes.insert(sizes.begin() + std::min<std::ptrdiff_t>(axis, std::ssize(sizes)), 1);
  std::sort(squeezed.rbegin(), squeezed.rend());
  for (const int axis : squeezed)
    if (axis < std::ssize(sizes)) sizes.erase(sizes.begin() + axis);
  return Shape(std::move(sizes));
}

}  // namespace attn::keras
