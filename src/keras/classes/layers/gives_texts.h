// Layers whose results are strings.
#pragma once

#include "attn/text/encoding.h"

namespace attn::keras {

/// Its call gives places in a vocabulary, int64, where Keras gives the strings: a graph holds numbers.
class GivesTexts {
 public:
  virtual ~GivesTexts() = default;
  /// The vocabulary.
  [[nodiscard]] virtual text::Lookup places() const = 0;
};

}  // namespace attn::keras
