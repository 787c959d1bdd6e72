#include "byte_level.h"

#include <array>

#include "text/characters.h"

namespace attn::tokenizers {
namespace {

/// Printable Latin-1 characters stand for themselves; the other bytes, in order, are the letters from U+0100 on
/// (bytes_to_unicode in GPT-2's encoder.py).
struct Letters {
  std::array<char32_t, 256> of_byte{};
  std::array<int, 0x144> byte_of{};  // -1: no byte

  constexpr Letters() {
    byte_of.fill(-1);
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool is_seen = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      of_byte[byte] = is_seen ? byte : next++;
      byte_of[of_byte[byte]] = static_cast<int>(byte);
    }
  }
};
constexpr Letters kLetters;

}  // namespace

std::string byte_letters(std::string_view bytes) {
  std::string letters(2 * bytes.size(), '\0');
  char* to = letters.data();
  for (const char byte : bytes) {
    const char32_t letter = kLetters.of_byte[static_cast<unsigned char>(byte)];
    if (letter >= 0x80) {
      *to++ = static_cast<char>(0xc0 | letter >> 6);
      *to++ = static_cast<char>(0x80 | (letter & 0x3f));
    } else {
      *to++ = static_cast<char>(letter);
    }
  }
  letters.resize(static_cast<std::size_t>(to - letters.data()));
  return letters;
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  std::string bytes;
  bytes.reserve(letters.size());
  for (std::size_t at = 0; at < letters.size();) {
    const char32_t letter = next_point(letters, at);
    if (letter >= kLetters.byte_of.size() || kLetters.byte_of[letter] < 0) return std::nullopt;
    bytes += static_cast<char>(kLetters.byte_of[letter]);
  }
  return bytes;
}

}  // namespace attn::tokenizers
