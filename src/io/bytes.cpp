#include "attn/io/bytes.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/tensor.h"

namespace attn::io {

Bytes Bytes::copy_of(std::span<const std::byte> bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::shared_ptr<std::byte> data = allocate_bytes(size);
  std::copy(bytes.begin(), bytes.end(), data.get());
  return {std::move(data), size};
}

std::optional<Bytes::Backing> Bytes::backing() const noexcept {
  if (!file_) return std::nullopt;
  return Backing{file_->get(), file_offset_};
}

Bytes Bytes::slice(std::int64_t offset, std::int64_t size) const {
  if (offset < 0 || size < 0 || offset > size_ || size > size_ - offset) {
    throw internal_error("a slice of {} bytes at {} of {} bytes", size, offset, size_);
  }
  Bytes part(std::shared_ptr<std::byte>(data_, data_.get() + offset), size, file_);
  part.file_offset_ = file_offset_ + offset;
  return part;
}

}  // namespace attn::io
