// attn-audio: the only program here that links the library for FLAC. audio_records.h defines what it sends.
#include <FLAC/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "audio/audio_decoder.h"
#include "companion/child.h"

namespace attn::io {
namespace {

constexpr std::array<std::string_view, 1> kModes = {"read"};

constexpr std::int64_t kProgram = std::int64_t{256} << 20;  // memory for the program and the library
constexpr Decoding kDecoding{"a sound", kMaxAudioBytes, {kAudioMilliseconds, kProgram, false}, send_audio};

std::string work(const ChildTask& task, Channel& channel) { return decode_confined(kDecoding, task, channel); }

std::string version() { return std::string("libFLAC ") + FLAC__VERSION_STRING; }

}  // namespace
}  // namespace attn::io

int main(int count, char** words) {
  using namespace attn::io;
  run_child({"attn-audio reads WAV and FLAC files for attn, which starts it.", kModes, version, work}, count, words);
}
