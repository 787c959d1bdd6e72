// Small JSON files of a preset folder.
#pragma once

#include <optional>
#include <string>

namespace attn::open {

inline constexpr const char* kPreprocessorJson = "preprocessor.json";

/// Returns the text of a file of a preset; empty if the file is missing. Throws Error (bad_input) if it is too large.
[[nodiscard]] std::optional<std::string> preset_text(const std::string& folder, const std::string& name);

}  // namespace attn::open
