// The preprocessor in a task's config. It is never run: it is kept as read, and asked for a few numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/task_info.h"
#include "attn/keras/version.h"
#include "config/json.h"

namespace attn::keras {

/// A field of a config.
struct PreprocessorField {
  Json json;  ///< null: none
  std::optional<Preprocessor> what;
};

/// Throws Error (bad_input) where it is neither null nor a serialized object.
void read_field(const Ref& ref, PreprocessorField& value, std::vector<std::string>& warnings);
[[nodiscard]] Json write_field(const PreprocessorField& value, Version version);

}  // namespace attn::keras
