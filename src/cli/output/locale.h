// The character encoding of the locale.
#pragma once

namespace attn::cli {

/// Returns whether the locale (LC_ALL, LC_CTYPE, LANG) is UTF-8.
[[nodiscard]] bool locale_is_utf8();

}  // namespace attn::cli
