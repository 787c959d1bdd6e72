// Checksums of arrays, to compare runs or files bit by bit.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn::io {

/// Returns the SHA-256 (FIPS 180-4) of the bytes as 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::span<const std::byte> bytes);

/// Returns the SHA-256 of a file, which is read block by block, as 64 hexadecimal digits. Throws Error (bad_input) if
/// it cannot be read.
[[nodiscard]] std::string sha256_of_file(const std::string& path);

}  // namespace attn::io
