// Detection of decompression bombs.
#pragma once

#include <cstdint>

namespace attn::io {

/// Returns whether unpacking `stored` bytes into `size` is suspicious. Small data may be all zeros; beyond kFreeSize no
/// model data shrinks a hundredfold.
[[nodiscard]] constexpr bool is_bomb(std::int64_t size, std::int64_t stored) noexcept {
  constexpr std::int64_t kFreeSize = std::int64_t{16} << 20;
  constexpr std::int64_t kMostGrowth = 100;
  return size > kFreeSize && size / kMostGrowth > stored;
}

}  // namespace attn::io
