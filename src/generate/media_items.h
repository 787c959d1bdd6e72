// Images and sounds as arrays for a model.
#pragma once

#include <string>
#include <vector>

#include "attn/generate/media.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::generate {

/// Reads files of one modality, and converts them by the model's converter. Throws Error.
[[nodiscard]] std::vector<MediaItem> read_items(const keras::MediaPrompt& how, const std::vector<std::string>& files,
                                                const open::LoadedModel& loaded, const open::Execution& execution,
                                                const open::Listener& listener);

}  // namespace attn::generate
