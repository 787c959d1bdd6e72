// Prompts with images.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/generate/decoder.h"
#include "attn/keras/image_prompt.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

/// The images of the prompts as inputs of the first step.
struct ImagePrompts {
  Dim each = 0;     ///< maximum number of images of a prompt
  Dim patches = 0;  ///< number of patches of an image, for a model that reads images as patches
  std::vector<NamedTensor> arrays;
};

/// Replaces each mark of an image in a prompt, as KerasHub's preprocessor does.
[[nodiscard]] std::string with_placeholders(std::string_view text, const keras::ImagePrompt& how);

/// Reads the image files of the prompts: one for each, or one for all, if an image begins a prompt; otherwise one for
/// each mark, in order. `tokenizer` made the tokens of `prompts`; null if they were given as ids. Throws Error, also if
/// the model needs images and there are none, or if prompts with images have different lengths.
[[nodiscard]] ImagePrompts read_image_prompts(const open::LoadedModel& loaded, const std::vector<std::string>& files,
                                              const std::vector<std::vector<Token>>& prompts,
                                              const tokenizers::Tokenizer* tokenizer, const open::Execution& execution,
                                              const open::Listener& listener);

}  // namespace attn::generate
