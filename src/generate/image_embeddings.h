// Images that a vision encoder reads before a model of whole sequences.
#pragma once

#include <vector>

#include "attn/backends/backend.h"
#include "attn/generate/media.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::generate {

/// Runs the vision encoder on each image, and returns the inputs of the model's graph for `prompts` prompts of `length`
/// tokens with `branches` rows each: image_embeddings, vision_indices and position_ids; nothing without images. Throws
/// Error, also if an image ends behind the tokens.
[[nodiscard]] std::vector<NamedTensor> image_embeddings(const backends::Backend& backend,
                                                        const open::LoadedModel& loaded, const Media& images,
                                                        Dim prompts, Dim branches, Dim length,
                                                        const open::Execution& execution,
                                                        const open::Listener& listener);

}  // namespace attn::generate
