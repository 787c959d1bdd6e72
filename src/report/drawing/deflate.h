// Compresses and encodes the binary data of pages and images.
#pragma once

#include <string>
#include <string_view>

namespace attn::report {

/// Returns the bytes as a zlib stream (RFC 1950).
[[nodiscard]] std::string deflated(std::string_view bytes);

/// Returns the bytes in base64 (RFC 4648), with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace attn::report
