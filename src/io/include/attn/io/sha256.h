// Checksums of arrays, for telling whether two runs or files hold the same bits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn::io {

/// SHA-256 (FIPS 180-4) of the bytes, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::span<const std::byte> bytes);

/// The same of a file, a part of which is in memory at a time. Throws Error (bad_input) where it cannot be read.
[[nodiscard]] std::string sha256_of_file(const std::string& path);

}  // namespace attn::io
