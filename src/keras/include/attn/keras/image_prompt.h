// Tasks that continue prompts with images: PaliGemma, Gemma 3 and 4.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// The place of images in prompts. Strings are constants; they are "" if each prompt begins with one image, which
/// has no tokens.
struct ImagePrompt {
  std::int64_t tokens;  ///< number of positions of an image
  /// In a prompt, `mark` stands for an image. KerasHub's preprocessor replaces it by `start`, `tokens` times
  /// `placeholder`, and `end`.
  std::string_view mark, start, placeholder, end;
  bool patches = false;  ///< whether images are read as patches with positions

  [[nodiscard]] bool begins_prompt() const { return mark.empty(); }
};

}  // namespace attn::keras
