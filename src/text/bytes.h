// Reads little-endian numbers from strings, and rotates them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attn::text {

static_assert(std::endian::native == std::endian::little);

[[nodiscard]] inline std::uint64_t fetch64(const char* at) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

[[nodiscard]] inline std::uint32_t fetch32(const char* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace attn::text
