// The Keras object of a tokenizer in the files of a model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "model_files.h"

namespace attn::tokenizers {

struct KerasObject {
  nlohmann::json whole;  ///< contents of the file that contains the object
  std::string file;      ///< name of the file for messages
  bool in_task = false;  ///< whether the object is part of a task's config instead of a separate file
  std::string folder;    ///< folder of the tokenizer's assets

  /// {class_name, config, …}. Valid during the lifetime of this object.
  [[nodiscard]] JsonNode node() const;
};

/// Returns the object of a preset or of a task's .keras file; empty if there is none. Throws Error (bad_input) for a
/// damaged file.
[[nodiscard]] std::optional<KerasObject> keras_object(const ModelFiles& files);

}  // namespace attn::tokenizers
