// Models some of whose unknown input sizes are not lengths.
#pragma once

#include <optional>
#include <string_view>

#include "attn/base/shape.h"

namespace attn::keras {

class SizedInputs {
 public:
  virtual ~SizedInputs() = default;
  /// Returns the size of an input's axis if no array is given; empty if it is a length.
  [[nodiscard]] virtual std::optional<Dim> default_size(std::string_view input, int axis) const = 0;
};

}  // namespace attn::keras
