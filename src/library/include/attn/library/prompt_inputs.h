// The inputs of a model for a prompt of text.
#pragma once

#include <string>

#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/model.h"

namespace attn::library {

/// Returns the arrays that a model reads for one prompt: its tokens as the model's own preprocessor makes them, without
/// padding, and their mask. The decoder of a model with an encoder reads `decoder_text` behind its start token. `path`
/// is the path of the model's files. Throws Error if the model reads no text or has no tokenizer.
[[nodiscard]] open::GivenInputs prompt_inputs(const open::LoadedModel& loaded, const std::string& path,
                                              const std::string& text, const std::string& decoder_text,
                                              const open::Execution& execution, const open::Listener& listener);

}  // namespace attn::library
