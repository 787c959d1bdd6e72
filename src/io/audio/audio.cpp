#include "attn/io/audio.h"

#include "attn/io/file.h"
#include "audio/audio_answer.h"
#include "audio/audio_records.h"
#include "companion/file_decoder.h"

namespace attn::io {
namespace {

constexpr FileDecoder kAudio{{"attn-audio", "ATTN_AUDIO", "audio", "the audio library"},
                             "an audio file",
                             "libFLAC",
                             kMaxAudioBytes,
                             kAudioMilliseconds};

}  // namespace

std::string audio_version() { return decoder_version(kAudio); }

Audio decode_audio(const Bytes& file, std::string_view name) {
  Audio out;
  decode_file(kAudio, file, name,
              [&](Channel& channel, const std::string& place) { out = read_audio_answer(channel, place); });
  return out;
}

Audio read_audio(const std::string& path) { return decode_audio(read_file(path, kMaxAudioBytes), path); }

}  // namespace attn::io
