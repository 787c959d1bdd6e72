// The converters of images or sound in the files of a model.
#pragma once

#include <optional>
#include <string>

#include "attn/open/model.h"

namespace attn::open {

/// A serialized layer of KerasHub as JSON.
struct ConverterText {
  std::string source;  ///< its file and place, for messages
  std::string config;
};

/// Returns the converter with this key, such as "image_converter", of a task's preprocessor, or of a preset's
/// preprocessor.json or <key>.json; nothing if there is none. Throws Error (bad_input).
[[nodiscard]] std::optional<ConverterText> converter_of(const LoadedModel& loaded, const std::string& key);

}  // namespace attn::open
