#include "deflate.h"

#include <zlib.h>

#include "attn/base/error.h"

namespace attn::report {

std::string deflated(std::string_view bytes) {
  // The compression level. Higher levels take four times as long, and reduce the size of weights by only 1 % more.
  constexpr int kLevel = 4;
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                             static_cast<uLong>(bytes.size()), kLevel);
  if (code != Z_OK) throw internal_error("zlib: compress2 gives {}", code);
  out.resize(size);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (unsigned k = 0; k < 4; ++k) out += kLetters[group >> (18 - 6 * k) & 63U];
  }
  for (std::size_t i = out.size(); (bytes.size() + 2) / 3 * 3 - bytes.size() > out.size() - i;) out[--i] = '=';
  return out;
}

}  // namespace attn::report
