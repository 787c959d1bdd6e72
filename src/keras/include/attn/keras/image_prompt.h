// Tasks that continue prompts with images: PaliGemma, Gemma 3 and 4, BLIP-2, Qwen 3.5.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// The place of images in prompts. Strings are constants; they are "" if each prompt begins with one image, which
/// has no tokens.
struct ImagePrompt {
  std::int64_t tokens;  ///< number of positions of an image; 0 if that depends on its size
  /// In a prompt, `mark` stands for an image. KerasHub's preprocessor replaces it by `start`, `tokens` times
  /// `placeholder`, and `end`.
  std::string_view mark, start, placeholder, end;
  bool patches = false;  ///< whether images are read as patches with positions
  /// For images of any size: an image has a token for each square of merge × merge patches. Then `mark` is also the
  /// placeholder, and `start` and `end` are "". It is 0 for images of one size.
  std::int64_t merge = 0;

  [[nodiscard]] bool begins_prompt() const { return mark.empty(); }
};

/// The patches of an image of any size.
struct PatchGrid {
  std::int64_t rows = 0, columns = 0;
};

}  // namespace attn::keras
