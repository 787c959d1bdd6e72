// Model folders: KerasHub presets, and folders for Hugging Face's from_pretrained.
#pragma once

#include <optional>
#include <string>

#include "attn/open/model_text.h"

namespace attn::open {

/// Returns the model of a folder; for a preset, its task if there is one, otherwise the backbone. Throws Error
/// (bad_input) for other folders, with a way out.
[[nodiscard]] ModelText read_model_folder(const std::string& path);

/// Returns the folder of a config file if it also holds weights under the names of KerasHub or Hugging
/// Face.
[[nodiscard]] std::optional<std::string> folder_with_weights(const std::string& config);

/// Returns the weights file of a preset's backbone or of a Hugging Face model, or its index if it is sharded; nothing
/// if the folder has none.
[[nodiscard]] std::optional<std::string> weights_file_in(const std::string& folder);

/// Returns whether the folder has weights that only Python can read.
[[nodiscard]] bool pickles_in(const std::string& folder);

/// The file of a preset with the weights that its task adds to the backbone.
inline constexpr const char* kTaskWeights = "task.weights.h5";

}  // namespace attn::open
