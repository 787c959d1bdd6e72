// Model formats of other libraries, which attn does not read.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attn/io/bytes.h"

namespace attn::io {

/// A format, recognized by the file's extension.
struct UnsupportedFormat {
  std::string_view ending;
  std::string_view what;  ///< the format's name, and what to give instead
};

[[nodiscard]] std::span<const UnsupportedFormat> unsupported_formats();

/// Throws Error (bad_input) for a file in such a format. A file that begins as a JSON object is always accepted.
void refuse_unsupported_format(const Bytes& file, const std::string& path);

}  // namespace attn::io
