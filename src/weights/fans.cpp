#include "fans.h"

#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::weights {
namespace {

double product_over(const graph::WeightSpec& spec, const std::vector<int>& axes) {
  double product = 1.0;
  for (const int given : axes) {
    const auto axis = normalize_axis(given, spec.shape.rank());
    if (!axis) {
      throw bad_input("weight '{}': its {} counts axis {} among its inputs or outputs, but the shape is {}",
                      printable(spec.path), printable(spec.initializer.class_name), given, spec.shape.str());
    }
    product *= static_cast<double>(spec.shape[*axis]);
  }
  return product;
}

}  // namespace

Fans fans_of(const graph::WeightSpec& spec) {
  const graph::Initializer& initializer = spec.initializer;
  if (!initializer.input_axes.empty() || !initializer.output_axes.empty())
    return {product_over(spec, initializer.input_axes), product_over(spec, initializer.output_axes)};
  const Shape& shape = spec.shape;
  if (shape.rank() == 0) return {};
  const auto last = static_cast<double>(shape.back());
  if (shape.rank() == 1) return {last, last};
  double window = 1.0;
  for (const Dim dim : shape.slice(0, shape.rank() - 2)) window *= static_cast<double>(dim);
  return {static_cast<double>(shape[-2]) * window, last * window};
}

}  // namespace attn::weights
