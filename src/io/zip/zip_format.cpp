#include "zip_format.h"

#include <zlib.h>

#include "attn/base/text.h"

namespace attn::io {

std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t crc) {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

const char* why_not_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.find('\0') != std::string_view::npos) return "contains a null character";
  if (!is_utf8(name)) return "is not UTF-8";
  if (name.find('\\') != std::string_view::npos) return "contains a backslash";
  if (name.front() == '/') return "is an absolute path";
  for (const std::string& part : split(name, '/')) {
    if (part == "..") return "leaves the archive's folder";
  }
  return nullptr;
}

}  // namespace attn::io
