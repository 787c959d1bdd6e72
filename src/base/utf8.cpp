#include "attn/base/utf8.h"

#include <algorithm>

namespace attn {

Character front_of(std::string_view utf8) {
  const auto lead = static_cast<unsigned char>(utf8.front());
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t point = bytes == 1 ? lead : lead & (0x7fU >> bytes);
  for (const char tail : utf8.substr(1, bytes - 1)) point = (point << 6) | (static_cast<unsigned char>(tail) & 0x3fU);
  return {point, std::min(bytes, utf8.size())};
}

}  // namespace attn
