// attn's trust in attn-audio, which a file may have taken over: the input is the output of that process.
#include "audio/audio_answer.h"

#include "answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  fuzz::read_answer_of(data, size,
                       [](io::Channel& channel) { static_cast<void>(io::read_audio_answer(channel, "x.wav")); });
  return 0;
}
