#include "attn/io/descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace attn::io {

bool Descriptor::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  // On Linux the descriptor is closed even if close is interrupted.
  return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

}  // namespace attn::io
