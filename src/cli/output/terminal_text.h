// Text that is safe for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::cli {

enum class Colors : std::uint8_t { escaped, kept };

/// Returns `text` without bytes that control a terminal: control characters (C0 except line feeds, tabs and the CR LF
/// of a CSV, DEL, C1) and bytes that are not UTF-8 become `\u{..}` or `\x..`. Everything else is kept, also combining
/// and directional characters. `Colors::kept` is for text that attn has coloured: ESC [ … m is kept too.
[[nodiscard]] std::string terminal_text(std::string_view text, Colors colors = Colors::escaped);

}  // namespace attn::cli
