#include "output/ascii.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace attn::cli {

Character front_of(std::string_view utf8) {
  const auto lead = static_cast<unsigned char>(utf8.front());
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t point = bytes == 1 ? lead : lead & (0x7fU >> bytes);
  for (const char tail : utf8.substr(1, bytes - 1)) point = (point << 6) | (static_cast<unsigned char>(tail) & 0x3fU);
  return {point, std::min(bytes, utf8.size())};
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text = value;
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace attn::cli
