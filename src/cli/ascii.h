// Text for what shows ASCII alone.
#pragma once

#include <string>
#include <string_view>

namespace attn::cli {

/// Lines of boxes and a few signs become ASCII of the same width; any other character is written as its number, as the
/// text's own form does (JSON, Python), else as \u{..}.
[[nodiscard]] std::string ascii_text(std::string_view utf8);

/// The code point at the front of valid UTF-8, which must not be empty, and its bytes.
struct Character {
  char32_t point;
  std::size_t bytes;
};
[[nodiscard]] Character front_of(std::string_view utf8);

/// Does the locale (LC_ALL, LC_CTYPE, LANG) promise UTF-8?
[[nodiscard]] bool locale_is_utf8();

}  // namespace attn::cli
