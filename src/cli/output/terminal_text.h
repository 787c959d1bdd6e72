// Text that is safe for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::cli {

enum class Colors : std::uint8_t { escaped, kept };

/// Escapes the bytes of `text` that control a terminal as `\u{..}` or `\x..`. These are DEL, C1, bytes that are not
/// UTF-8, and C0 except line feeds, tabs and the CR LF of a CSV. Everything else is kept, including combining and
/// directional characters. `Colors::kept` is for text that attn has colored, and also keeps ESC [ … m.
[[nodiscard]] std::string terminal_text(std::string_view text, Colors colors = Colors::escaped);

}  // namespace attn::cli
