// UTF-8 characters, and whether the locale supports them.
#pragma once

#include <string_view>

namespace attn::cli {

/// The code point at the start of valid UTF-8, which must not be empty, and its bytes.
struct Character {
  char32_t point;
  std::size_t bytes;
};
[[nodiscard]] Character front_of(std::string_view utf8);

/// Is the locale (LC_ALL, LC_CTYPE, LANG) UTF-8?
[[nodiscard]] bool locale_is_utf8();

}  // namespace attn::cli
