// The pixels that a decoder makes, row by row. Included only by attn-image.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "companion/child.h"
#include "image/image_records.h"

namespace attn::io {

/// Sends the size of an image and its rows.
class ImageRows {
 public:
  explicit ImageRows(Channel& out) : out_(out) {}

  /// Throws FileRefused if the image is too large.
  void begin(std::uint32_t height, std::uint32_t width) {
    if (height == 0 || width == 0) throw FileRefused("the image has no pixels");
    if (height > kMaxImagePixels / width)
      throw FileRefused("the image has " + std::to_string(width) + " by " + std::to_string(height) +
                        " pixels; at most " + std::to_string(kMaxImagePixels) + " are allowed");
    out_.put_u8(static_cast<std::uint8_t>(ImageTag::size));
    out_.put_u32(height);
    out_.put_u32(width);
  }
  /// Sends the next row: red, green and blue of each pixel.
  void row(std::span<const std::uint8_t> rgb) {
    out_.put_u8(static_cast<std::uint8_t>(ImageTag::row));
    out_.put_bytes(std::as_bytes(rgb));
  }

 private:
  Channel& out_;
};

}  // namespace attn::io
