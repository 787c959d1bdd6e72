// Checksums of arrays, for telling whether two runs or files hold the same bits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn::io {

/// SHA-256 (FIPS 180-4) of the bytes, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::span<const std::byte> bytes);

}  // namespace attn::io
