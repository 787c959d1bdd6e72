// Text from a model inside other languages: one function for each. All make it printable first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/json.h"

namespace attn::report {

/// For the text and the quoted attributes of XML and HTML.
[[nodiscard]] std::string xml_text(std::string_view text);

/// The same of several lines, which stay lines ("&#10;"): a tip. What stands in a line breaks none.
[[nodiscard]] std::string xml_lines(const std::vector<std::string>& lines);

/// For the inside of a quoted string of Graphviz that is a label.
[[nodiscard]] std::string dot_text(std::string_view text);

/// For the inside of a quoted label of Mermaid.
[[nodiscard]] std::string mermaid_text(std::string_view text);

/// JSON for the inside of a <script> element: without "<", and with every string printable.
[[nodiscard]] std::string script_json(const Json& json);

/// At most `cells` terminal cells of a printable text; where it is longer, its middle is "…".
[[nodiscard]] std::string shortened(std::string_view text, int cells);

}  // namespace attn::report
