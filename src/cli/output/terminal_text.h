// Text that a terminal may get.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn::cli {

enum class Colors : std::uint8_t { escaped, kept };

/// Returns `text` without bytes that a terminal acts on: control characters (C0 but line feeds, tabs and the CR LF of a
/// CSV, DEL, C1) and bytes that are not UTF-8 become `\u{..}` or `\x..`. Everything else is kept, also letters that
/// join or turn the direction of others. `Colors::kept` is for text that attn has coloured: ESC [ … m is kept too.
[[nodiscard]] std::string terminal_text(std::string_view text, Colors colors = Colors::escaped);

}  // namespace attn::cli
