// An open file descriptor with a single owner.
#pragma once

#include <utility>

namespace attn::io {

/// Closes its descriptor on destruction. Movable, not copyable.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Closes now. Returns false if the system reports that earlier writes were lost (reason in errno).
  bool close() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace attn::io
