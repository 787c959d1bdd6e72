// The forms that a result can be written in.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::report {

/// Each kind of result has a function `render(format, result)` in the header of its view, which gives its whole text in
/// the forms that its comment names. In another form there is nothing to write: Error (internal).
enum class Format : std::uint8_t {
  table,  ///< for a terminal
  text,   ///< byte for byte
  ids,    ///< of tokens: a line with commas for each text
  json,
  jsonl,  ///< an object in each line
  markdown,
  csv,
  html,  ///< a page that needs no network
  svg,
  png,
  dot,      ///< for Graphviz
  mermaid,  ///< for Markdown pages that draw it
  latex,
  python  ///< as print() shows a dict
};

/// "markdown"
[[nodiscard]] std::string_view name_of(Format format);

/// For a `render` that has no such form.
[[noreturn]] void refuse(Format format);

}  // namespace attn::report
