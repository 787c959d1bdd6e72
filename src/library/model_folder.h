// Folders that hold a model: presets of KerasHub, and what Hugging Face's from_pretrained reads.
#pragma once

#include <optional>
#include <string>

#include "attn/library/model_file.h"

namespace attn::library {

/// The model of a folder: of a preset the task where there is one, else the backbone. Throws Error (bad_input) for a
/// folder of another kind, with the way out.
[[nodiscard]] ModelText read_model_folder(const std::string& path);

/// The folder of a config that is a file of its own, where weights lie beside it under the names that KerasHub and
/// Hugging Face give them.
[[nodiscard]] std::optional<std::string> folder_with_weights(const std::string& config);

/// The file of a preset's backbone or of a Hugging Face model, or its index where it is split; nothing where the folder
/// has none.
[[nodiscard]] std::optional<std::string> weights_file_in(const std::string& folder);

/// Has the folder weights that only Python reads?
[[nodiscard]] bool pickles_in(const std::string& folder);

/// The file of a preset that has what its task adds to the backbone.
inline constexpr const char* kTaskWeights = "task.weights.h5";

}  // namespace attn::library
