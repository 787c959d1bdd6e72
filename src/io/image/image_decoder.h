// Decodes a JPEG or PNG file, recognized by its first bytes. Included only by attn-image.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "image/jpeg_decoder.h"
#include "image/png_decoder.h"

namespace attn::io {

/// Sends the size and the rows of the image in `file`. Throws ImageRefused and std::bad_alloc.
inline void send_image(std::span<const std::uint8_t> file, Channel& channel) {
  using namespace std::string_view_literals;
  struct Other {
    std::string_view begin;
    std::size_t at;
    std::string_view name;
  };
  constexpr std::array kOthers = {Other{"GIF8"sv, 0, "a GIF"},        Other{"BM"sv, 0, "a BMP"},
                                  Other{"WEBP"sv, 8, "a WebP"},       Other{"II*\0"sv, 0, "a TIFF"},
                                  Other{"MM\0*"sv, 0, "a TIFF"},      Other{"ftypheic"sv, 4, "an HEIC"},
                                  Other{"ftypavif"sv, 4, "an AVIF"},  Other{"\0\0\0\x0CjP  "sv, 0, "a JPEG 2000"},
                                  Other{"\xFF\x0A"sv, 0, "a JPEG XL"}};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  ImageRows rows(channel);
  if (text.starts_with("\x89PNG\r\n\x1a\n"sv)) return PngDecoder(file).send(rows);
  if (text.starts_with("\xFF\xD8\xFF"sv)) return JpegDecoder(file).send(rows);
  for (const Other& other : kOthers)
    if (text.size() > other.at && text.substr(other.at).starts_with(other.begin))
      throw ImageRefused(std::string(other.name) + " image; convert it to JPEG or PNG");
  throw ImageRefused("not a JPEG or PNG image, or damaged");
}

}  // namespace attn::io
