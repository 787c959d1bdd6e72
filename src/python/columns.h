// Arrays that are filled one number after the other.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "attn/base/tensor.h"

namespace attn::python {

/// Numbers in the order of an array's elements.
struct Column {
  Shape shape;
  std::vector<double> values;

  [[nodiscard]] nanobind::object array(DType dtype = DType::float64) const {
    const Tensor out(dtype, shape);
    for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
    return array_of(out);
  }
};

/// Columns by the name of a point.
class Columns {
 public:
  /// Appends an element, in the order of the array's elements. The shape grows with the indices.
  void add(const std::string& name, const std::vector<std::optional<std::int64_t>>& index, double value) {
    const auto known = std::ranges::find(all_, name, &std::pair<std::string, Column>::first);
    Column& column = known != all_.end() ? known->second : all_.emplace_back(name, Column{{}, {}}).second;
    Shape shape;
    for (const std::optional<std::int64_t>& at : index)
      if (at) shape.push_back(*at + 1);
    column.shape = std::move(shape);  // the last element has the largest indices
    column.values.push_back(value);
  }
  [[nodiscard]] nanobind::dict dict() const {
    nanobind::dict out;
    for (const auto& [name, column] : all_) out[name.c_str()] = column.array();
    return out;
  }

 private:
  std::vector<std::pair<std::string, Column>> all_;
};

}  // namespace attn::python
