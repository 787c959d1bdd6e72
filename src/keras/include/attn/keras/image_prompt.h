// Tasks that continue prompts with images: PaliGemma, Gemma 3, BLIP-2, Qwen 3.5.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// The place of images in prompts. Strings are constants; they are "" if each prompt begins with one image, which
/// has no tokens.
struct ImagePrompt {
  std::int64_t tokens;  ///< number of positions of an image; 0 if that depends on its size
  /// In a prompt, `start` stands for an image. KerasHub's preprocessor appends `tokens` times `placeholder`, and `end`,
  /// and adds two line feeds on both sides.
  std::string_view start, placeholder, end;
  /// For images of any size: an image has a token for each square of merge × merge patches. Each `start`, which is also
  /// the placeholder, stands for an image. 0 for images of one size.
  std::int64_t merge = 0;

  [[nodiscard]] bool begins_prompt() const { return start.empty(); }
};

/// The patches of an image of any size.
struct PatchGrid {
  std::int64_t rows = 0, columns = 0;
};

}  // namespace attn::keras
