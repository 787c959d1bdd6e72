// The Keras object of a tokenizer in the files of a model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "model_files.h"

namespace attn::tokenizers {

struct KerasObject {
  nlohmann::json whole;  ///< the file that holds it
  std::string file;      ///< for messages
  bool in_task = false;  ///< inside the config of a task, not a file of its own
  std::string folder;    ///< where its assets lie

  /// {class_name, config, …}. Valid while this lives.
  [[nodiscard]] JsonNode node() const;
};

/// That of a preset or of the .keras file of a task; nothing where there is none. Throws Error (bad_input) for a file
/// that is damaged.
[[nodiscard]] std::optional<KerasObject> keras_object(const ModelFiles& files);

}  // namespace attn::tokenizers
