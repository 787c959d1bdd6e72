#include "attn/io/file_kind.h"

#include <string_view>

namespace attn::io {

FileKind kind_of(const Bytes& file) noexcept {
  const std::string_view text = file.text();
  if (text.starts_with("\x93NUMPY")) return FileKind::npy;
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return FileKind::zip;
  if (text.starts_with("\x89HDF\r\n\x1a\n")) return FileKind::hdf5;
  // A safetensors file begins with the header's size, which is below 2^32, followed by the header, a JSON object.
  constexpr std::string_view kUpperHalf("\0\0\0\0", 4);
  if (text.size() > 8 && text.substr(4, 4) == kUpperHalf && text[8] == '{') return FileKind::safetensors;
  return FileKind::other;
}

}  // namespace attn::io
