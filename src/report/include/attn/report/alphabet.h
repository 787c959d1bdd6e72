// Output for terminals that support only ASCII.
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

}  // namespace attn::report
