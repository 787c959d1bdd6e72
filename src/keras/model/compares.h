// Models that compare images with texts.
#pragma once

#include "attn/keras/image_texts.h"

namespace attn::keras {

class Compares {
 public:
  virtual ~Compares() = default;
  [[nodiscard]] virtual const ImageTexts& image_texts() const = 0;
};

}  // namespace attn::keras
