// Pixels of JPEG and PNG files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "attn/base/tensor.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// The maximum number of pixels of an image.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 26;
/// The maximum size of an image file in bytes.
inline constexpr std::int64_t kMaxImageBytes = std::int64_t{256} << 20;

/// Called with the height and the width of an image before memory is allocated for its pixels. It rejects the image by
/// throwing an Error.
using SizeCheck = std::function<void(Dim height, Dim width)>;

/// Returns the version of the libraries that decode images: "libjpeg-turbo 2.1.5, libspng 0.7.3". Throws Error
/// (bad_input) if attn-image cannot be run.
[[nodiscard]] std::string image_version();

/// Returns the pixels of a JPEG or PNG file, (height, width, 3) uint8, as keras.utils.load_img does: gray becomes RGB,
/// alpha is dropped, a palette is expanded, CMYK is converted, color profiles and the orientation in EXIF are ignored.
/// A process of its own decodes the file. `name` is for messages. Throws Error (bad_input) for other, damaged and
/// truncated files, and for images above the limits.
[[nodiscard]] Tensor decode_image(const Bytes& file, std::string_view name, const SizeCheck& check = {});

/// Reads and decodes the file at `path`. Throws as read_file and decode_image do.
[[nodiscard]] Tensor read_image(const std::string& path, const SizeCheck& check = {});

}  // namespace attn::io
