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

/// Sends the rate and the samples of the sound in `file`. Throws FileRefused and std::bad_alloc.
inline void send_audio(std::span<const std::uint8_t> file, Channel& channel) {
  using namespace std::string_view_literals;
  constexpr std::array kOthers = {Signature{"ID3"sv, 0, "an MP3"},
                                  Signature{"\xFF\xFB"sv, 0, "an MP3"},
                                  Signature{"\xFF\xF3"sv, 0, "an MP3"},
                                  Signature{"OggS"sv, 0, "an Ogg"},
                                  Signature{"ftyp"sv, 4, "an MP4"},
                                  Signature{"FORM"sv, 0, "an AIFF"},
                                  Signature{"\x1A\x45\xDF\xA3"sv, 0, "a Matroska"},
                                  Signature{".snd"sv, 0, "an AU"},
                                  Signature{"caff"sv, 0, "a CAF"},
                                  Signature{"wvpk"sv, 0, "a WavPack"},
                                  Signature{"RF64"sv, 0, "an RF64"},
                                  Signature{"RIFX"sv, 0, "a RIFX"}};
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  AudioSink sink(channel);
  if (text.starts_with("RIFF"sv) && text.substr(4).size() >= 8 && text.substr(8, 4) == "WAVE"sv)
    return WavDecoder(file).send(sink);
  if (text.starts_with("fLaC"sv)) return FlacDecoder(file).send(sink);
  if (const std::string_view format = format_of(text, kOthers); !format.empty())
    throw FileRefused(std::string(format) + " file; convert it to WAV or FLAC");
  throw FileRefused("not a WAV or FLAC file, or damaged");
}

}  // namespace attn::io
