// Escapes text from a model for other languages, with one function for each. All of them make it printable first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/json.h"

namespace attn::report {

/// Escapes text for XML and HTML, also within quoted attributes.
[[nodiscard]] std::string xml_text(std::string_view text);

/// Escapes several lines in the same way and joins them by "&#10;", for a tooltip. Newlines inside a line are escaped.
[[nodiscard]] std::string xml_lines(const std::vector<std::string>& lines);

/// Escapes text for a quoted label in Graphviz.
[[nodiscard]] std::string dot_text(std::string_view text);

/// Escapes text for a quoted label in Mermaid.
[[nodiscard]] std::string mermaid_text(std::string_view text);

/// Returns JSON for a <script> element: it contains no "<", and every string is printable.
[[nodiscard]] std::string script_json(const Json& json);

/// Shortens printable text to `cells` terminal cells, with "…" in the middle.
[[nodiscard]] std::string shortened(std::string_view text, int cells);

}  // namespace attn::report
