// A companion process as seen from attn.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "attn/io/bytes.h"
#include "companion/channel.h"

namespace attn::io {

/// A program of attn's that handles files of one format in a process of its own, so that a hostile file can only take
/// down that process. The names are for messages.
struct Companion {
  const char* program;   ///< "attn-hdf5"
  const char* variable;  ///< the environment variable with the program's path: "ATTN_HDF5"
  const char* format;    ///< "HDF5"
  const char* library;   ///< "the HDF5 library"
};

/// Returns the output of the program with --version. Throws Error (bad_input).
[[nodiscard]] std::string version_line(const Companion& companion);

/// A file without a name, in memory.
[[nodiscard]] Descriptor memory_file(const Companion& companion);

/// Bytes as a range of an open file, which a companion can read.
class OpenBytes {
 public:
  /// Copies bytes that lie in no file into one in memory. Throws Error (bad_input or no_memory).
  OpenBytes(const Companion& companion, const Bytes& bytes);
  [[nodiscard]] Bytes::Backing backing() const noexcept { return backing_; }

 private:
  Descriptor copy_;
  Bytes::Backing backing_;
};

/// A running companion; killed and reaped on destruction.
class CompanionProcess {
 public:
  /// Starts the program to `mode` ("read" or "write") a file of `size` bytes in an open file. The process may take
  /// `limit` of wall-clock time. `place` names the file in messages. Throws Error (bad_input) if it cannot be started.
  CompanionProcess(const Companion& companion, const std::string& mode, Bytes::Backing file, std::int64_t size,
                   std::chrono::seconds limit, std::string place);
  CompanionProcess(const CompanionProcess&) = delete;
  CompanionProcess& operator=(const CompanionProcess&) = delete;
  ~CompanionProcess();

  [[nodiscard]] Channel& channel() noexcept { return channel_; }
  /// Throws the Error (bad_input) that describes how the process ended.
  [[noreturn]] void fail(const ChannelBroken& broken);

 private:
  int reap();

  const Companion& companion_;
  std::string place_;
  std::chrono::seconds limit_;
  pid_t pid_ = -1;
  Channel channel_;
};

}  // namespace attn::io
