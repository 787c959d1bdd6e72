// JSON in Keras's format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace attn::keras {

/// Parses a config's text, in which NaN, Infinity and -Infinity are numbers. Throws Error (bad_input) with
/// `source:line:column`, as for every config.
[[nodiscard]] nlohmann::ordered_json parse_json_text(const std::string& text, const std::string& source);

/// The output of Python's json.dumps (", " and ": ", \uXXXX for non-ASCII, NaN, Infinity); `indent` > 0 adds newlines.
[[nodiscard]] std::string write_json_text(const nlohmann::ordered_json& json, int indent = 0);

}  // namespace attn::keras
