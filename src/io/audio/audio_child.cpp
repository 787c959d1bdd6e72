// attn-audio: the only program here that links the library for FLAC. audio_records.h defines what it sends.
#include <FLAC/format.h>

#include <array>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "audio/audio_decoder.h"
#include "companion/child.h"

namespace attn::io {
namespace {

constexpr std::array<std::string_view, 1> kModes = {"read"};

std::string work(const ChildTask& task, Channel& channel) {
  constexpr std::int64_t kProgram = std::int64_t{256} << 20;  // memory for the program and the library
  try {
    if (task.size > kMaxAudioBytes) return "the file is too large";
    confine({kAudioMilliseconds, kProgram + task.size, false});
    const std::vector<std::uint8_t> file = bytes_of(task);
    send_audio(file, channel);
    return {};
  } catch (const AudioRefused& refused) {
    return refused.what();
  } catch (const std::bad_alloc&) {
    return "needs more memory than a sound should";
  }
}

std::string version() { return std::string("libFLAC ") + FLAC__VERSION_STRING; }

}  // namespace
}  // namespace attn::io

int main(int count, char** words) {
  using namespace attn::io;
  run_child({"attn-audio reads WAV and FLAC files for attn, which starts it.", kModes, version, work}, count, words);
}
