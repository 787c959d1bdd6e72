// The markup of rich 15 ("[bold]…[/]"), which Keras applies to the names in a summary.
//
// Keras escapes a layer's name in its own row but not under "Connected to", and escaping is not lossless for
// backslashes. To match Keras's output, both steps are reproduced here. Emoji codes (":dog:"), which rich would convert
// to emoji, stay as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::report {

/// Escapes the tags of a text.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// Returns the text that a terminal without color shows; empty if the markup closes a tag that is not open, which is an
/// error in Keras.
[[nodiscard]] std::optional<std::string> plain_markup(std::string_view markup);

}  // namespace attn::report
