// Tasks that continue prompts with images or sounds: PaliGemma, BLIP-2, Gemma 3, 3n and 4, Qwen 3.5.
#pragma once

#include <cstdint>
#include <string_view>

#include "attn/base/shape.h"

namespace attn::keras {

enum class Modality : std::uint8_t { image, audio };

/// The place of images, or of sounds, in prompts. Strings are constants.
struct MediaPrompt {
  Modality modality = Modality::image;
  /// The model's input for them, and the shape of its array for one of them. Sizes that depend on the image or on the
  /// sound are kUnknown. Inputs of sounds have a second one, with the suffix "_mask": 1 for steps that are no padding.
  std::string_view input{};
  Shape shape{};
  std::int64_t tokens = 0;  ///< number of positions of an item; 0 if that depends on its size
  /// For items of any size: an image has a token for each square of merge × merge patches, and a sound has one for
  /// every `merge` steps of its spectrogram, rounded up. It is 0 for items with a fixed number of tokens.
  std::int64_t merge = 0;
  /// The number of patches of an image that become one position; 0 if the model does not join patches. There must be
  /// enough for `tokens` positions.
  std::int64_t patches_per_token = 0;
  /// The number of columns of patches for which the model has positions, and that of rows; 0 if there is no limit.
  std::int64_t position_embedding_size = 0;
  /// In a prompt, `mark` stands for an item. KerasHub's preprocessor replaces it by `start`, a `placeholder` for each
  /// position, and `end`. They are "" if each prompt begins with an image, which has no tokens.
  std::string_view mark{}, start{}, placeholder{}, end{};
  /// Whether KerasHub's preprocessor encodes the parts of a prompt between special tokens on their own.
  bool cuts_text = false;

  [[nodiscard]] bool begins_prompt() const { return mark.empty(); }
  /// Returns whether these are images of any size. Decode steps do not read them.
  [[nodiscard]] bool needs_whole_sequences() const { return modality == Modality::image && merge > 0; }
};

/// The patches of an image of any size.
struct PatchGrid {
  std::int64_t rows = 0, columns = 0;
};

}  // namespace attn::keras
