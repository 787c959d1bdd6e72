// Tasks that continue prompts with images: PaliGemma, Gemma 3.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::keras {

/// The place of images in prompts. Strings are constants; they are "" if each prompt begins with one image, which
/// has no tokens.
struct ImagePrompt {
  std::int64_t tokens;  ///< number of positions of an image
  /// In a prompt, `start` stands for an image. KerasHub's preprocessor appends `tokens` times `placeholder`, and `end`,
  /// and adds two line feeds on both sides.
  std::string_view start, placeholder, end;

  [[nodiscard]] bool begins_prompt() const { return start.empty(); }
};

}  // namespace attn::keras
