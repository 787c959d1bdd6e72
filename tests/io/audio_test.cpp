#include "attn/io/audio.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "../largest.h"
#include "attn/io/array_file.h"
#include "support.h"

namespace attn::io {
namespace {

/// A file that tests/oracle/make_audio_cases.py has written.
std::string audio_path(const std::string& name) { return test::in_repository("tests/data/audio/" + name); }

const Tensor& array_of(const Arrays& arrays, const std::string& name) {
  for (const NamedTensor& array : arrays.tensors)
    if (array.name == name) return array.tensor;
  FAIL("no array " << name);
  return arrays.tensors.front().tensor;
}

/// A program in place of attn-audio, for the length of a test.
class InsteadOfAudio {
 public:
  explicit InsteadOfAudio(const std::string& script) {
    const std::string path = folder_ / "program";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    ::setenv("ATTN_AUDIO", path.c_str(), 1);
  }
  InsteadOfAudio(const InsteadOfAudio&) = delete;
  InsteadOfAudio& operator=(const InsteadOfAudio&) = delete;
  ~InsteadOfAudio() { ::unsetenv("ATTN_AUDIO"); }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("audio: every kind of WAV and FLAC has the written samples and rate") {
  const Arrays expected = read_arrays(audio_path("samples.npz"));
  std::size_t seen = 0;
  for (const NamedTensor& array : expected.tensors) {
    if (array.name.ends_with(".rate")) continue;
    CAPTURE(array.name);
    const Audio audio = read_audio(audio_path(array.name));
    CHECK(audio.rate == static_cast<std::uint32_t>(array_of(expected, array.name + ".rate").at(0)));
    REQUIRE(audio.samples.shape() == array.tensor.shape());
    // The mean of channels is rounded once here and twice by NumPy.
    CHECK(test::largest_error(array.tensor, audio.samples) <= 1e-7);
    ++seen;
  }
  CHECK(seen == 20);
}

TEST_CASE("audio: files that are not sounds, damaged, truncated or above limits are rejected in one sentence") {
  const std::string damaged = "a damaged WAV file: ",
                    formats = "; expected PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64";
  const std::map<std::string, std::string> reasons = {
      {"bits.wav", "a WAV file of format 1 with 12 bits" + formats},
      {"checksum.flac", "a damaged FLAC file"},
      {"cut.flac", "a "},
      {"cut.wav", "a WAV file that is cut: 80 bytes of samples are announced, but 71 are there"},
      {"empty.wav", "the file is empty"},
      {"flipped.flac", "a damaged FLAC file"},
      {"frame.wav", damaged + "1 channels of 16 bits cannot take 3 bytes"},
      {"header.flac", "a"},
      {"high_rate.wav", "the sound has 4000000000 samples per second; expected 1000 to 384000"},
      {"huge.wav", "a WAV file that is cut: 4294967280 bytes of samples are announced, but 80 are there"},
      {"infinite.wav", "sample 1 is NaN or too large for a float"},
      {"law.wav", "a WAV file of format 7 with 16 bits" + formats},
      {"long_chunk.wav", damaged + "a part of 2147483647 bytes, of which"},
      {"many_channels.wav", "the sound has 65 channels; expected 1 to 64"},
      {"nan.wav", "sample 0 is NaN or too large for a float"},
      {"no_channels.wav", "the sound has 0 channels; expected 1 to 64"},
      {"no_data.wav", damaged + "it has no part with samples"},
      {"no_format.wav", damaged + "its samples have no format"},
      {"no_rate.wav", "the sound has 0 samples per second; expected 1000 to 384000"},
      {"no_samples.flac", "a damaged FLAC file"},
      {"no_samples.wav", "the sound has no samples"},
      {"short_format.wav", damaged + "its format has 4 bytes"},
      {"subformat.wav", "a WAV file of format 0 with 16 bits" + formats},
      {"text.wav", "not a WAV or FLAC file, or damaged"},
      {"x.aiff", "an AIFF file; convert it to WAV or FLAC"},
      {"x.m4a", "an MP4 file; convert it to WAV or FLAC"},
      {"x.mp3", "an MP3 file; convert it to WAV or FLAC"},
      {"x.ogg", "an Ogg file; convert it to WAV or FLAC"},
  };
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(audio_path("refused"))) {
    const std::string path = entry.path(), name = entry.path().filename();
    CAPTURE(name);
    REQUIRE(reasons.contains(name));
    const std::string said = refusal([&] { return read_audio(path); });
    CAPTURE(said);
    CHECK(said.starts_with(path + ": " + reasons.at(name)));
    ++seen;
  }
  CHECK(seen == reasons.size());
}

TEST_CASE("audio: prefixes and flipped bits are decoded or rejected") {
  for (const char* name : {"flac_8_1.flac", "pcm_24_extensible.wav", "float_64.wav", "chunks.wav"}) {
    CAPTURE(name);
    const std::string text(read_file(audio_path(name)).text());
    for (std::size_t size = 1; size + 1 < text.size(); size += text.size() / 12)
      CHECK(!is_accepted([&] { return decode_audio(bytes_of_text(text.substr(0, size)), "x"); }));
    for (std::size_t bit = 0; bit < 8 * text.size(); bit += text.size() / 4 + 1) {
      std::string flipped = text;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << (bit % 8));
      is_accepted([&] { return decode_audio(bytes_of_text(flipped), "x"); });
    }
  }
}

TEST_CASE("audio: a crash of the decoder process is an error and does not end attn") {
  const auto refusal_with = [](const std::string& script) {
    const InsteadOfAudio program(script);
    return refusal([] { return read_audio(audio_path("pcm_16.wav")); });
  };
  const std::string file = audio_path("pcm_16.wav") + ": ";
  CHECK(refusal_with("kill -SEGV $$") ==
        file + "not a readable audio file (the audio library was stopped by signal 11)");
  CHECK(refusal_with("exit 7") == file + "not a readable audio file (the audio library ended with status 7)");
  ::setenv("ATTN_AUDIO", "/nowhere/attn-audio", 1);
  CHECK(refusal([] { return read_audio(audio_path("pcm_16.wav")); }) ==
        "audio files need /nowhere/attn-audio: No such file or directory");
  ::unsetenv("ATTN_AUDIO");
}

TEST_CASE("audio: all data from the decoder process is checked") {
  const auto refusal_with = [](const std::string& answer) {
    const InsteadOfAudio program("printf '" + answer + "' >&0");
    return refusal([] { return read_audio(audio_path("pcm_16.wav")); });
  };
  const std::string rate = "R\\200\\076\\0\\0", one = "S\\1\\0\\0\\0";
  for (const std::string& answer :
       {std::string("x"), std::string("S"), std::string("Z"), std::string("R\\1\\0\\0\\0Z"), rate + "Z", rate + "R",
        rate + "S\\0\\0\\0\\0Z", rate + "S\\377\\377\\377\\377", rate + one + "\\0\\0\\300\\177Z"}) {
    CAPTURE(answer);
    CHECK(refusal_with(answer).find("makes no sense") != std::string::npos);
  }
  CHECK(refusal_with("E\\4\\0\\0\\0a\\033[m") == audio_path("pcm_16.wav") + ": a\\u{1b}[m");
  const InsteadOfAudio program("printf '" + rate + one + "\\0\\0\\200\\077Z' >&0");
  CHECK(read_audio(audio_path("pcm_16.wav")).samples.at(0) == 1.0);
}

TEST_CASE("audio: resampled tones equal tones at the model's rate, except near their ends") {
  const Arrays arrays = read_arrays(audio_path("resampled.npz"));
  const Tensor& expected = array_of(arrays, "tone");
  for (const std::uint32_t rate : {8000U, 11025U, 44100U, 48000U, 192000U}) {
    CAPTURE(rate);
    const Tensor got = resampled(array_of(arrays, "tone_" + std::to_string(rate)), rate, 16000);
    CHECK(std::abs(got.size() - expected.size()) <= 1);
    double largest = 0.0;
    for (Dim i = 200; i < 1400; ++i) largest = std::max(largest, std::abs(got.at(i) - expected.at(i)));
    CHECK(largest <= 2e-5);
  }
}

TEST_CASE("audio: a tone above the new Nyquist frequency is removed") {
  Tensor tone(DType::float32, {4800});
  for (Dim i = 0; i < tone.size(); ++i) tone.set(i, std::sin(2.0 * 3.141592653589793 * 11000.0 / 48000.0 * double(i)));
  const Tensor got = resampled(tone, 48000, 16000);
  double largest = 0.0;
  for (Dim i = 200; i < 1400; ++i) largest = std::max(largest, std::abs(got.at(i)));
  CHECK(largest <= 2e-5);
}

TEST_CASE("audio: the library's version is reported") { CHECK(audio_version().starts_with("libFLAC 1.")); }

}  // namespace
}  // namespace attn::io
