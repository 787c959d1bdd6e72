// Characters of UTF-8 texts.
#pragma once

#include <cstddef>
#include <string_view>

namespace attn {

/// The code point at the start of valid UTF-8, which must not be empty, and the number of its bytes.
struct Character {
  char32_t point;
  std::size_t bytes;
};
[[nodiscard]] Character front_of(std::string_view utf8);

}  // namespace attn
