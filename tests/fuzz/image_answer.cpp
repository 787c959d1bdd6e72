// attn's trust in attn-image, which a file may have taken over: the input is the output of that process.
#include "image/image_answer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "attn/io/descriptor.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  using namespace std::chrono_literals;
  constexpr std::size_t kMost = std::size_t{64} << 10;  // capacity of a socket without a reader
  if (size > kMost) return 0;
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fuzz::fail("no socket", "");
  io::Channel channel(io::Descriptor{ends[0]}, io::Channel::Clock::now() + 10s);
  const ssize_t sent = ::send(ends[1], data, size, MSG_NOSIGNAL);
  ::close(ends[1]);
  if (sent != static_cast<ssize_t>(size)) fuzz::fail("the socket takes too little", "");
  fuzz::accepts([&] {
    try {
      static_cast<void>(io::read_image_answer(channel, "x.png"));
    } catch (const io::ChannelBroken&) {
    }
  });
  return 0;
}
