// Images and sounds in prompts, as arrays with places.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/keras/media_prompt.h"

namespace attn::generate {

/// An array of an image or a sound, for an input of the model.
struct MediaArray {
  std::string input;
  Tensor tensor;         ///< without the axes of the prompts and of their items
  double padding = 0.0;  ///< the value behind an array that is shorter than another one
};

/// An image or a sound, as the model's converter returns it.
struct MediaItem {
  std::vector<MediaArray> arrays;
  Dim tokens = 0;           ///< number of its placeholders
  keras::PatchGrid grid{};  ///< the patches of an image of any size
};

/// The place of an item: its prompt, and the position of its first placeholder there.
struct MediaPlace {
  Dim prompt = 0, position = 0;
};

/// The images, or the sounds, of all prompts.
struct Media {
  keras::MediaPrompt how;
  std::vector<MediaItem> items;
  /// The place of each item; for images that begin prompts, that of each prompt's image.
  std::vector<MediaPlace> places{};
  std::size_t encoded = 0;  ///< number of marks in the prompts that were encoded
};

}  // namespace attn::generate
