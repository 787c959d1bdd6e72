// The output formats of results.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::report {

/// Each kind of result has a function `render(format, result)` in the header of its view, which returns its whole text
/// in the formats that its comment lists. For any other format it throws Error (internal).
enum class Format : std::uint8_t {
  table,  ///< text for a terminal
  text,   ///< unchanged bytes
  ids,    ///< token ids: a line with commas for each text
  json,
  jsonl,  ///< an object in each line
  markdown,
  csv,
  html,  ///< a self-contained page
  svg,
  png,
  dot,      ///< source text for Graphviz
  mermaid,  ///< source text for Markdown pages that draw it
  latex,
  python  ///< like print() of a dict
};

/// Returns the name of a format: "markdown".
[[nodiscard]] std::string_view name_of(Format format);

/// Throws Error (internal): this `render` does not have the format.
[[noreturn]] void refuse(Format format);

}  // namespace attn::report
