#include "attn/io/bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/tensor.h"

namespace attn::io {
namespace {

/// Below this size the system call costs more than the memory is worth.
constexpr std::int64_t kGiveBackFrom = std::int64_t{1} << 15;

/// Gives the pages that lie entirely inside the range back to the system.
void give_back(std::byte* data, std::int64_t size) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(size)) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // NOLINT: page arithmetic
}

}  // namespace

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
  std::byte* const first = data_.get() + offset;
  Bytes part(std::shared_ptr<std::byte>(data_, first), size, file_, mapped_);
  if (mapped_ && size >= kGiveBackFrom)
    part.data_ = {first, [size, whole = data_](std::byte* data) { give_back(data, size); }};
  part.file_offset_ = file_offset_ + offset;
  return part;
}

}  // namespace attn::io
