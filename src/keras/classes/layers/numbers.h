// Number lists in a config.
#pragma once

#include <vector>

#include "attn/graph/graph.h"
#include "config/json.h"

namespace attn::keras {

/// A number, or a rectangular nested list of numbers, as in a config.
struct Numbers {
  Json json;
  Shape shape;
  std::vector<double> values;

  void read(const Ref& ref) {
    json = ref.json();
    // NumPy arrays are objects that contain the list.
    const Ref list = ref.is_object() ? ref["config"]["value"] : ref;
    for (Ref level = list; level.is_array() && level.size() > 0; level = level[0])
      shape.push_back(static_cast<Dim>(level.size()));
    collect(list, 0);
  }
  /// Returns the numbers as a constant of shape `as`, which must have the same number of elements.
  [[nodiscard]] graph::ValueId constant(graph::Builder& b, DType dtype, const Shape& as) const {
    Tensor tensor(dtype, as);
    for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
    return b.constant(std::move(tensor));
  }

 private:
  void collect(const Ref& ref, int axis) {
    if (axis == shape.rank()) {
      values.push_back(ref.number());
      return;
    }
    if (!ref.is_array() || static_cast<Dim>(ref.size()) != shape[axis])
      ref.fail(fmt::format("expected a list of {} here, as next to it", shape[axis]));
    for (const Ref& item : ref.elements()) collect(item, axis + 1);
  }
};

}  // namespace attn::keras
