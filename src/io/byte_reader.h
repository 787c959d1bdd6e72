// A cursor over bytes from a file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "attn/base/error.h"

namespace attn::io {

static_assert(std::endian::native == std::endian::little,
              "the formats here are little-endian, and so must the host be");

/// Reads consecutive little-endian numbers; throws Error (bad_input), naming the place and the byte, at the end of the
/// bytes.
class ByteReader {
 public:
  /// `place` names the bytes in messages and is printable.
  ByteReader(std::span<const std::byte> bytes, std::string place) : bytes_(bytes), place_(std::move(place)) {}

  [[nodiscard]] std::int64_t offset() const noexcept { return static_cast<std::int64_t>(offset_); }
  [[nodiscard]] std::int64_t remaining() const noexcept { return static_cast<std::int64_t>(bytes_.size() - offset_); }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }

  /// Jumps to an offset from the start.
  void seek(std::int64_t offset) {
    if (offset < 0 || static_cast<std::uint64_t>(offset) > bytes_.size()) {
      throw bad_input("{}: points to byte {}, past its end at byte {}", place_, offset, bytes_.size());
    }
    offset_ = static_cast<std::size_t>(offset);
  }
  std::span<const std::byte> take(std::int64_t size) {
    if (size < 0 || size > remaining()) {
      throw bad_input("{}: ends at byte {}, where {} more bytes were expected from byte {} on", place_, bytes_.size(),
                      size, offset_);
    }
    const auto taken = bytes_.subspan(offset_, static_cast<std::size_t>(size));
    offset_ += taken.size();
    return taken;
  }
  std::string_view text(std::int64_t size) {
    const auto taken = take(size);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }

 private:
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> bytes_;
  std::string place_;
  std::size_t offset_ = 0;
};

}  // namespace attn::io
