// Definitions shared by reading and writing zip archives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
namespace attn::io {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
inline constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
inline constexpr std::uint32_t kDirectoryEnd64 = 0x06064b50;
inline constexpr std::uint32_t kLocator64 = 0x07064b50;
inline constexpr std::int64_t kDirectoryEnd64Size = 56;

// A field at its maximum means that the number is in a 64-bit field elsewhere.
inline constexpr std::uint16_t kElsewhere16 = 0xFFFF;
inline constexpr std::uint32_t kElsewhere32 = 0xFFFFFFFF;
inline constexpr std::uint16_t kExtra64 = 1;

inline constexpr std::uint16_t kFlagUtf8 = 1 << 11;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kVersion64 = 45;

/// Continues the CRC-32 `crc` with more bytes.
[[nodiscard]] std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// Returns the reason why a member's name is rejected, or null.
[[nodiscard]] const char* why_not_name(std::string_view name);

}  // namespace attn::io
