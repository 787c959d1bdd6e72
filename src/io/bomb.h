// What grows out of proportion when it is unpacked.
#pragma once

#include <cstdint>

namespace attn::io {

/// Would unpacking `stored` bytes into `size` be suspicious? Small things may be all zeros; beyond kFreeSize nothing
/// that a model holds shrinks a hundredfold.
[[nodiscard]] constexpr bool is_bomb(std::int64_t size, std::int64_t stored) noexcept {
  constexpr std::int64_t kFreeSize = std::int64_t{16} << 20;
  constexpr std::int64_t kMostGrowth = 100;
  return size > kFreeSize && size / kMostGrowth > stored;
}

}  // namespace attn::io
