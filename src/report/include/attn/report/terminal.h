// Output for terminals: those that support only ASCII, narrow ones, and colors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::report {

enum class Alphabet : std::uint8_t { unicode, ascii };

/// Sets the alphabet of table cells, which determines column widths. Global, like color; must be set before a result is
/// laid out.
void write_cells_in(Alphabet alphabet);

/// Converts printable text to the alphabet of cells.
[[nodiscard]] std::string cell_text(std::string_view printable_text);

/// Converts box-drawing characters and some symbols to ASCII of the same width. Any other character is written as an
/// escape of the surrounding format (JSON, Python), otherwise as \u{..}. The text is valid UTF-8.
[[nodiscard]] std::string ascii_text(std::string_view text);

/// Narrows every table that is wider than `columns` cells. The widest columns continue in the next lines, broken
/// between the parts of a name and never in a number. If that is not enough, the last columns are removed, and a line
/// below names them. Lines outside tables, and tables that cannot fit, stay unchanged.
[[nodiscard]] std::string folded_tables(std::string_view text, int columns);

/// Makes the headings of tables bold, and colors Keras's own table as Keras does (keras/src/utils/summary_utils.py):
/// classes blue, numbers green, None cyan.
[[nodiscard]] std::string colored_result(std::string_view text);

}  // namespace attn::report
