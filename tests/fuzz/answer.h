// An answer of a companion process, made of a fuzzer's bytes.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "attn/io/descriptor.h"
#include "companion/channel.h"
#include "target.h"

namespace attn::fuzz {

/// Lets `read` take the bytes from a channel whose other end is closed. Longer inputs are ignored: they do not fit into
/// a socket without a reader.
template <typename Read>
void read_answer_of(const std::uint8_t* data, std::size_t size, Read&& read) {
  using namespace std::chrono_literals;
  constexpr std::size_t kMost = std::size_t{64} << 10;  // capacity of a socket without a reader
  if (size > kMost) return;
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("no socket", "");
  io::Channel channel(io::Descriptor{ends[0]}, io::Channel::Clock::now() + 10s);
  const ssize_t sent = ::send(ends[1], data, size, MSG_NOSIGNAL);
  ::close(ends[1]);
  if (sent != static_cast<ssize_t>(size)) fail("the socket takes too little", "");
  accepts([&] {
    try {
      read(channel);
    } catch (const io::ChannelBroken&) {
    }
  });
}

}  // namespace attn::fuzz
