// The records that attn-image sends.
#pragma once

#include <cstdint>

#include "attn/io/image.h"
#include "companion/channel.h"

namespace attn::io {

/// The tag of a record. The records are:
///
///   `size`   height (32 bits), width (32); the first record.
///   `row`    the pixels of the next row, 3 bytes each: red, green and blue.
///   `error`  message; the last record.
///   `end`    the last record, after all rows.
enum class ImageTag : std::uint8_t { size = 'S', row = 'R', error = kErrorTag, end = kEndTag };

/// The processor time in milliseconds that attn-image may use.
inline constexpr std::int64_t kImageMilliseconds = 10'000;

}  // namespace attn::io
