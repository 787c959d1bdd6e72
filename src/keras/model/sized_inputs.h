// Models some of whose unknown input sizes are not lengths.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/keras/array_fault.h"

namespace attn::keras {

class SizedInputs {
 public:
  virtual ~SizedInputs() = default;
  /// Returns the size of an input's axis if no array is given; empty if it is a length.
  [[nodiscard]] virtual std::optional<Dim> default_size(std::string_view input, int axis) const = 0;
  /// Returns why the numbers in arrays, by the names of their inputs, do not fit each other; empty if they do.
  [[nodiscard]] virtual std::optional<ArrayFault> array_fault(const std::map<std::string, Tensor>& /*arrays*/) const {
    return std::nullopt;
  }
};

}  // namespace attn::keras
