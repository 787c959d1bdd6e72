#include "png.h"

#include <zlib.h>

#include "deflate.h"

namespace attn::report {
namespace {

std::string big_endian(std::uint64_t value) {
  std::string out;
  for (unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(value >> shift & 0xffU);
  return out;
}

std::string chunk(const std::string& kind, const std::string& body) {
  const std::string checked = kind + body;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(body.size()) + checked + big_endian(sum);
}

}  // namespace

std::string png(const Image& image) {
  // The header's fields: 8 bits, RGB, deflate, the standard filters, not interlaced.
  const std::string form("\x08\x02\x00\x00\x00", 5);
  std::string rows;
  rows.reserve(static_cast<std::size_t>(image.height * (1 + 3 * image.width)));
  for (std::int64_t y = 0; y < image.height; ++y) {
    rows += '\0';  // no filter
    for (std::int64_t x = 0; x < image.width; ++x)
      for (const std::uint8_t part : image.pixels[static_cast<std::size_t>(y * image.width + x)])
        rows += static_cast<char>(part);
  }
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(static_cast<std::uint64_t>(image.width)) +
                           big_endian(static_cast<std::uint64_t>(image.height)) + form) +
         chunk("IDAT", deflated(rows)) + chunk("IEND", "");
}

}  // namespace attn::report
