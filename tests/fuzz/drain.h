// A socket that takes everything that the work of a companion sends.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "target.h"

namespace attn::fuzz {

/// A socket whose other end is read until it closes.
class Drain {
 public:
  Drain() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) fail("no socket", "");
    reader_ = std::thread([fd = ends_[1]] {
      std::array<char, 65536> buffer{};
      while (::read(fd, buffer.data(), buffer.size()) > 0) {
      }
    });
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    ::shutdown(ends_[0], SHUT_RDWR);
    reader_.join();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  [[nodiscard]] int writer() const { return ::dup(ends_[0]); }

 private:
  std::array<int, 2> ends_{};
  std::thread reader_;
};

}  // namespace attn::fuzz
