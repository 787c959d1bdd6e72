// Text for what shows ASCII alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::report {

enum class Alphabet : std::uint8_t { unicode, ascii };

/// What the cells of tables are written in from now on: the widths of columns are those of what is shown. One for the
/// program, as its colour is; who writes a result sets it before the result is laid out.
void write_cells_in(Alphabet alphabet);

/// A printable text as a cell shows it.
[[nodiscard]] std::string cell_text(std::string_view printable_text);

/// Lines of boxes and a few signs become ASCII of the same width; any other character is written as its number, as the
/// text's own form does (JSON, Python), else as \u{..}. The text is valid UTF-8.
[[nodiscard]] std::string ascii_text(std::string_view text);

}  // namespace attn::report
