// Bytes that keep their owner alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "attn/io/descriptor.h"

namespace attn::io {

/// A run of bytes together with its owner: a mapped file, a buffer, or a part of either. Copies share the bytes. They
/// are aligned to kAlignment at the start of a file or buffer, and unaligned in a slice.
class Bytes {
 public:
  /// The location of the same bytes in an open file. The descriptor lives as long as the Bytes.
  struct Backing {
    int fd;
    std::int64_t offset;
  };

  Bytes() = default;
  Bytes(std::shared_ptr<std::byte> data, std::int64_t size) : data_(std::move(data)), size_(size) {}
  /// `mapped`: the bytes are pages of the file, which can be reloaded.
  Bytes(std::shared_ptr<std::byte> data, std::int64_t size, std::shared_ptr<const Descriptor> file, bool mapped)
      : data_(std::move(data)), size_(size), file_(std::move(file)), mapped_(mapped) {}
  [[nodiscard]] static Bytes copy_of(std::span<const std::byte> bytes);

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> span() const noexcept {
    return {data_.get(), static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(data_.get()), static_cast<std::size_t>(size_)};
  }
  /// Returns a pointer to the first byte, which keeps all bytes alive. Writes through it never reach a file.
  [[nodiscard]] const std::shared_ptr<std::byte>& data() const noexcept { return data_; }
  /// Returns the location of the bytes in a file; empty for bytes that exist only in memory.
  [[nodiscard]] std::optional<Backing> backing() const noexcept;

  /// Returns bytes [offset, offset + size), sharing the owner. They must lie inside; otherwise throws Error (internal).
  /// A large slice of a mapped file releases its pages with its last copy, and data written there is lost then. Packed
  /// weights therefore take no memory twice although the file stays mapped.
  [[nodiscard]] Bytes slice(std::int64_t offset, std::int64_t size) const;

 private:
  std::shared_ptr<std::byte> data_;
  std::int64_t size_ = 0;
  std::shared_ptr<const Descriptor> file_;
  std::int64_t file_offset_ = 0;
  bool mapped_ = false;
};

}  // namespace attn::io
