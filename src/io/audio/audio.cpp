#include "attn/io/audio.h"

#include <chrono>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "audio/audio_answer.h"
#include "audio/audio_records.h"
#include "companion/companion_process.h"

namespace attn::io {
namespace {

constexpr Companion kAudio{"attn-audio", "ATTN_AUDIO", "audio", "the audio library"};

}  // namespace

std::string audio_version() {
  const std::string line = version_line(kAudio);
  if (!line.starts_with("libFLAC") || !line.ends_with('\n'))
    throw bad_input("attn-audio answers '{}' where its version is expected", printable(line));
  return printable(line.substr(0, line.size() - 1));
}

Audio decode_audio(const Bytes& file, std::string_view name) {
  const std::string place = printable(name);
  if (file.size() == 0) throw bad_input("{}: the file is empty", place);
  if (file.size() > kMaxAudioBytes)
    throw bad_input("{}: an audio file may have at most {} MiB", place, kMaxAudioBytes >> 20);
  const OpenBytes open(kAudio, file);
  // Processor time advances more slowly under load.
  constexpr std::chrono::seconds kLimit(5 * kAudioMilliseconds / 1000);
  CompanionProcess process(kAudio, "read", open.backing(), file.size(), kLimit, place);
  try {
    return read_audio_answer(process.channel(), place);
  } catch (const ChannelBroken& broken) {
    process.fail(broken);
  }
}

Audio read_audio(const std::string& path) { return decode_audio(read_file(path, kMaxAudioBytes), path); }

}  // namespace attn::io
