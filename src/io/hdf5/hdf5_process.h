// The attn-hdf5 process as seen from attn.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "hdf5_channel.h"

namespace attn::io {

/// Returns the output of `attn-hdf5 --version`. Throws Error (bad_input).
[[nodiscard]] std::string hdf5_version_line();

/// A running attn-hdf5; killed and reaped on destruction.
class Hdf5Process {
 public:
  /// Starts attn-hdf5 to "read" or "write" an HDF5 file of `size` bytes at `offset` of an open file. `place` names the
  /// file in messages. Throws Error (bad_input) if it cannot be started.
  Hdf5Process(const std::string& mode, int fd, std::int64_t offset, std::int64_t size, std::string place);
  Hdf5Process(const Hdf5Process&) = delete;
  Hdf5Process& operator=(const Hdf5Process&) = delete;
  ~Hdf5Process();

  [[nodiscard]] Channel& channel() noexcept { return channel_; }
  /// Throws the Error (bad_input) that describes how the process ended.
  [[noreturn]] void fail(const ChannelBroken& broken);

 private:
  int reap();

  std::string place_;
  std::int64_t seconds_;
  pid_t pid_ = -1;
  Channel channel_;
};

}  // namespace attn::io
