// Tasks whose prompts may contain images or sounds.
#pragma once

#include <vector>

#include "attn/keras/media_prompt.h"

namespace attn::keras {

class Multimodal {
 public:
  virtual ~Multimodal() = default;
  /// Returns how prompts contain images and sounds, for each modality that the model reads.
  [[nodiscard]] virtual std::vector<MediaPrompt> media_prompts() const = 0;
};

}  // namespace attn::keras
