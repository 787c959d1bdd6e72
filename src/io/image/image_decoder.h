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

/// Sends the size and the rows of the image in `file`. Throws FileRefused and std::bad_alloc.
inline void send_image(std::span<const std::uint8_t> file, Channel& channel) {
  using namespace std::string_view_literals;
  constexpr std::array kOthers = {
      Signature{"GIF8"sv, 0, "a GIF"},        Signature{"BM"sv, 0, "a BMP"},
      Signature{"WEBP"sv, 8, "a WebP"},       Signature{"II*\0"sv, 0, "a TIFF"},
      Signature{"MM\0*"sv, 0, "a TIFF"},      Signature{"ftypheic"sv, 4, "an HEIC"},
      Signature{"ftypavif"sv, 4, "an AVIF"},  Signature{"\0\0\0\x0CjP  "sv, 0, "a JPEG 2000"},
      Signature{"\xFF\x0A"sv, 0, "a JPEG XL"}};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  ImageRows rows(channel);
  if (text.starts_with("\x89PNG\r\n\x1a\n"sv)) return PngDecoder(file).send(rows);
  if (text.starts_with("\xFF\xD8\xFF"sv)) return JpegDecoder(file).send(rows);
  if (const std::string_view format = format_of(text, kOthers); !format.empty())
    throw FileRefused(std::string(format) + " image; convert it to JPEG or PNG");
  throw FileRefused("not a JPEG or PNG image, or damaged");
}

}  // namespace attn::io
