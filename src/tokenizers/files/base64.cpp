#include "base64.h"

#include <cstdint>

#include "attn/base/error.h"

namespace attn::tokenizers {

std::string from_base64(std::string_view text, const std::string& place) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0) throw bad_input("{}: not base64: its length is not a multiple of 4", place);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t value = i >= text.size() - padding ? 0 : kLetters.find(text[i]);
    if (value == std::string_view::npos) throw bad_input("{}: not base64 at its byte {}", place, i + 1);
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 0xff);
    group = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace attn::tokenizers
