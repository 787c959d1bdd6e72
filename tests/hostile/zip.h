// Zip archives that no packer writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// The 32-bit field refers to the zip64 field.
inline constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;

/// Fields that are not given are valid.
struct Member {
  std::string name, data;
  std::uint16_t method = 0;  ///< 8: `data` is deflated
  std::uint16_t flags = 0;
  std::uint32_t attributes = 0;  ///< external; the upper half is Unix's mode
  std::optional<std::uint32_t> crc, size, stored, offset;
  std::optional<std::string> local_name;
  std::optional<std::uint32_t> local_crc, local_size;
  std::string extra;              ///< in the directory
  std::string local_extra;        ///< in the local header
  bool stored_elsewhere = false;  ///< no local header: `offset` is the position of another one
};

struct Archive {
  std::vector<Member> members;
  std::string before, after, comment;
  std::string gap;  ///< before the directory
  std::optional<std::uint16_t> count, count_here, disk;
  std::optional<std::uint32_t> directory_size, directory_offset;
  std::optional<std::uint16_t> comment_size;
  bool zip64 = false;
  std::optional<std::uint64_t> count64, offset64;
};

[[nodiscard]] std::string make(const Archive& archive);
/// Raw deflate.
[[nodiscard]] std::string deflated(std::string_view data);
/// A little-endian number of `bytes` bytes.
[[nodiscard]] std::string number(std::uint64_t value, int bytes);
/// A .npy file of version 1.
[[nodiscard]] std::string npy(std::string_view header, std::string_view elements);

}  // namespace attn::test
