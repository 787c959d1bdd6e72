// Config files in the folder of a model.
#pragma once

#include <optional>
#include <string>

#include "attn/open/model.h"

namespace attn::open {

/// Returns the text of a config file in the model's folder; nothing if the model is no folder or lacks the file. Throws
/// Error (bad_input) for a file that is larger than a config should be.
[[nodiscard]] std::optional<std::string> folder_config(const LoadedModel& loaded, const std::string& name);

}  // namespace attn::open
