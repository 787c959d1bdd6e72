// The work of attn-image, in this process: decodes a file with the libraries for JPEG and PNG.
#include "image/image_decoder.h"

#include <new>

#include "drain.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const fuzz::Drain drain;
  try {
    io::Channel channel(io::Descriptor(drain.writer()), io::Channel::Clock::time_point::max());
    io::send_image({data, size}, channel);
    channel.flush();
  } catch (const io::FileRefused&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
