// The preprocessor in a task's config. attn keeps it as read, never runs it, and extracts some numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/task_info.h"
#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

/// A config field with a preprocessor.
struct PreprocessorField {
  Json json;  ///< null without a preprocessor
  std::optional<Preprocessor> what;
};

/// Throws Error (bad_input) if the value is neither null nor a serialized object.
void read_field(const Ref& ref, PreprocessorField& value, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const PreprocessorField& value, Version version);

}  // namespace attn::keras
