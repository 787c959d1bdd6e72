// The work of attn-audio, in this process: decodes WAV, and FLAC with its library.
#include "audio/audio_decoder.h"

#include <new>

#include "drain.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const fuzz::Drain drain;
  try {
    io::Channel channel(io::Descriptor(drain.writer()), io::Channel::Clock::time_point::max());
    io::send_audio({data, size}, channel);
    channel.flush();
  } catch (const io::FileRefused&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
