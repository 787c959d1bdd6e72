// Sounds through the converters of KerasHub, compared with tests/data/audio (tests/oracle/make_audio_cases.py).
#include "attn/open/audio_converter.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/io/array_file.h"

namespace attn::test {
namespace {

std::map<std::string, Tensor> features() {
  std::map<std::string, Tensor> out;
  for (const NamedTensor& array : io::read_arrays(in_repository("tests/data/audio/features.npz")).tensors)
    out.emplace(array.name, array.tensor);
  return out;
}

/// Returns the largest difference of the expected elements, which are the first ones.
double error_of_first(const Tensor& got, const Tensor& expected) {
  double error = 0.0;
  for (std::int64_t i = 0; i < expected.size(); ++i) error = std::max(error, std::abs(got.at(i) - expected.at(i)));
  return error;
}

std::string audio_refusal(const std::string& config) {
  try {
    static_cast<void>(open::AudioConverter("x.json", config));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "";
}

TEST_CASE("audio converter: the log-mel spectrogram and normalized samples equal KerasHub's") {
  const std::map<std::string, Tensor> arrays = features();
  open::AudioConverter whisper("x.json", R"({"class_name": "WhisperAudioConverter", "config": {}})");
  CHECK(whisper.rate() == 16000);
  CHECK(whisper.window() == 480000);
  const Tensor mels = whisper.convert(arrays.at("sound"), open::Execution{});
  CHECK(mels.shape() == Shape{1, 3000, 80});
  // The largest value is 1.3; KerasHub's own rounding to float32 is 1e-6.
  CHECK(error_of_first(mels, arrays.at("whisper")) <= 5e-6);

  open::AudioConverter moonshine("x.json",
                                 R"({"class_name": "MoonshineAudioConverter", "config": {"do_normalize": true}})");
  CHECK(!moonshine.window());
  const Tensor samples = moonshine.convert(arrays.at("sound"), open::Execution{});
  CHECK(samples.shape() == Shape{1, 17000, 1});
  CHECK(error_of_first(samples, arrays.at("moonshine")) <= 1e-5);
}

TEST_CASE("audio converter: other classes, rates and lengths are rejected by name") {
  CHECK(audio_refusal("[]").find("expected an object with 'class_name' and 'config'") != std::string::npos);
  CHECK(audio_refusal(R"({"class_name": "ViTImageConverter", "config": {}})").find("got 'ViTImageConverter'") !=
        std::string::npos);
  CHECK(audio_refusal(R"({"class_name": "WhisperAudioConverter", "config": {"sampling_rate": 0}})")
            .find("'sampling_rate' must be an integer from") != std::string::npos);
  CHECK(audio_refusal(R"({"class_name": "WhisperAudioConverter", "config": {"sampling_rate": 999999}})")
            .find("'sampling_rate' must be an integer from 1000 to 384000") != std::string::npos);
  CHECK(audio_refusal(R"({"class_name": "WhisperAudioConverter", "config": {"max_audio_length": 99999}})")
            .find("'max_audio_length' must be an integer from 1 to 3600") != std::string::npos);
}

}  // namespace
}  // namespace attn::test
