// Decodes a WAV or FLAC file, recognized by its first bytes. Included only by attn-audio.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "audio/flac_decoder.h"
#include "audio/wav_decoder.h"

namespace attn::io {

/// Sends the rate and the samples of the sound in `file`. Throws AudioRefused and std::bad_alloc.
inline void send_audio(std::span<const std::uint8_t> file, Channel& channel) {
  using namespace std::string_view_literals;
  struct Other {
    std::string_view begin;
    std::size_t at;
    std::string_view name;
  };
  constexpr std::array kOthers = {Other{"ID3"sv, 0, "an MP3"},
                                  Other{"\xFF\xFB"sv, 0, "an MP3"},
                                  Other{"\xFF\xF3"sv, 0, "an MP3"},
                                  Other{"OggS"sv, 0, "an Ogg"},
                                  Other{"ftyp"sv, 4, "an MP4"},
                                  Other{"FORM"sv, 0, "an AIFF"},
                                  Other{"\x1A\x45\xDF\xA3"sv, 0, "a Matroska"},
                                  Other{".snd"sv, 0, "an AU"},
                                  Other{"caff"sv, 0, "a CAF"},
                                  Other{"wvpk"sv, 0, "a WavPack"},
                                  Other{"RF64"sv, 0, "an RF64"},
                                  Other{"RIFX"sv, 0, "a RIFX"}};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  AudioSink sink(channel);
  if (text.starts_with("RIFF"sv) && text.substr(4).size() >= 8 && text.substr(8, 4) == "WAVE"sv)
    return WavDecoder(file).send(sink);
  if (text.starts_with("fLaC"sv)) return FlacDecoder(file).send(sink);
  for (const Other& other : kOthers)
    if (text.size() > other.at && text.substr(other.at).starts_with(other.begin))
      throw AudioRefused(std::string(other.name) + " file; convert it to WAV or FLAC");
  throw AudioRefused("not a WAV or FLAC file, or damaged");
}

}  // namespace attn::io
