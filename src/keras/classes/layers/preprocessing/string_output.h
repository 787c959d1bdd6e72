// Layers that return strings.
#pragma once

#include "attn/text/encoding.h"

namespace attn::keras {

/// The call returns vocabulary indices (int64) instead of strings as in Keras, because a graph contains only numbers.
class StringOutput {
 public:
  virtual ~StringOutput() = default;
  /// The vocabulary.
  [[nodiscard]] virtual text::Lookup places() const = 0;
};

}  // namespace attn::keras
