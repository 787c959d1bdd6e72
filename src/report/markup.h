// The markup of rich 15 ("[bold]…[/]"), through which Keras sends the names of a summary.
//
// Keras escapes a layer's name in its own row but not under "Connected to", and escaping is not lossless for
// backslashes; to print what Keras prints, both steps are repeated here. Emoji codes (":dog:"), which rich would turn
// into emoji, stay as they are written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::report {

/// The text with its tags escaped.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// What a terminal without colours shows of the markup; nothing where it closes a tag that is not open, which Keras
/// refuses.
[[nodiscard]] std::optional<std::string> plain_markup(std::string_view markup);

}  // namespace attn::report
