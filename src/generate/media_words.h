// The words of messages about images and sounds.
#pragma once

#include <string_view>

#include "attn/keras/media_prompt.h"

namespace attn::generate {

struct MediaWords {
  std::string_view field, one, many;
};

/// Returns the name of the option's field, and the nouns.
[[nodiscard]] constexpr MediaWords words_of(keras::Modality modality) {
  if (modality == keras::Modality::audio) return {"audio", "a sound", "sounds"};
  return {"images", "an image", "images"};
}

}  // namespace attn::generate
