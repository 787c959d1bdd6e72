// JSON in Keras's format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace attn::keras {

/// Parses a config's text, in which NaN, Infinity and -Infinity are numbers. Throws Error (bad_input) with
/// `source:line:column`, as for every config.
[[nodiscard]] nlohmann::ordered_json parse_json_text(const std::string& text, const std::string& source);

/// Formats JSON as Python's json.dumps does (", " and ": ", \uXXXX for non-ASCII, NaN, Infinity). `indent` is the
/// number of spaces for each level; above 0 there are newlines.
[[nodiscard]] std::string write_json_text(const nlohmann::ordered_json& json, int indent = 0);

}  // namespace attn::keras
