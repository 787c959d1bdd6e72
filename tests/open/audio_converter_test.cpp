// Sounds through the converters of KerasHub, compared with tests/data/audio (tests/oracle/make_audio_cases.py).
#include "attn/open/audio_converter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/io/array_file.h"

namespace attn::test {
namespace {

std::map<std::string, Tensor> features(const std::string& file = "features.npz") {
  std::map<std::string, Tensor> out;
  for (const NamedTensor& array : io::read_arrays(in_repository("tests/data/audio/" + file)).tensors)
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

/// A converter of Gemma 3n with the defaults of KerasHub's documentation, and other fields.
std::string gemma3n(const std::string& others = "") {
  return R"({"class_name": "Gemma3nAudioConverter", "config": {"feature_size": 128, "sampling_rate": 16000,
      "padding_value": 0.0, "return_attention_mask": true, "frame_length_ms": 32.0, "hop_length_ms": 10.0,
      "min_frequency": 125.0, "max_frequency": 7600.0, "preemphasis": 0.97, "preemphasis_htk_flavor": true,
      "fft_overdrive": true, "input_scale_factor": 1.0, "mel_floor": 1e-05, "per_bin_mean": null,
      "per_bin_stddev": null)" +
         (others.empty() ? R"(, "dither": 0.0, "padding_side": "right")" : others) + "}}";
}

/// Returns the largest difference of the expected magnitudes, whose logarithms are given, as a part of the largest one.
double error_of_magnitudes(const Tensor& got, const Tensor& expected) {
  double error = 0.0, largest = 0.0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double magnitude = std::exp(expected.at(i));
    largest = std::max(largest, magnitude);
    error = std::max(error, std::abs(std::exp(got.at(i)) - magnitude));
  }
  return error / largest;
}

TEST_CASE("audio converter: the spectrograms of Gemma 3n and Gemma 4 equal KerasHub's") {
  const std::map<std::string, Tensor> arrays = features("gemma.npz");
  open::AudioConverter third("x.json", gemma3n()),
      fourth("x.json", R"({"class_name": "Gemma4AudioConverter", "config": {}})");
  const Tensor mels = third.convert(arrays.at("sound"), open::Execution{});
  CHECK(mels.shape() == Shape{1, 104, 128});
  // KerasHub computes the edges of the filters in float32: an edge at 7600 Hz may be off by 5e-4 Hz, which is 4e-6 of
  // the width of its filter.
  CHECK(error_of_magnitudes(mels, arrays.at("gemma3n")) <= 5e-6);
  REQUIRE(third.clip_lengths());
  CHECK(third.clip_lengths()->are_equal);
  CHECK(third.clip_lengths()->least == 385);  // padded to 512 samples, which are one frame

  const Tensor steps = fourth.convert(arrays.at("sound"), open::Execution{});
  CHECK(steps.shape() == Shape{1, 3000, 128});
  CHECK(error_of_magnitudes(steps, arrays.at("gemma4")) <= 2e-6);  // KerasHub transforms in float32
  REQUIRE(fourth.clip_lengths());
  CHECK(fourth.clip_lengths()->most == 480000);
}

TEST_CASE("audio converter: fields of Gemma's converters that attn cannot compute with are rejected") {
  const auto refused = [](const std::string& config, const std::string& part) {
    std::string message;
    try {
      open::AudioConverter converter("x.json", config);
      static_cast<void>(converter.convert(Tensor(DType::float32, {700}), open::Execution{}));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  refused(gemma3n(R"(, "dither": 0.1, "padding_side": "right")"), "expected 0: attn adds no noise to sounds");
  refused(gemma3n(R"(, "dither": 0.0, "padding_side": "left")"), "expected 'right'");
  refused(gemma3n(R"(, "dither": 0.0, "padding_side": "right", "frame_length_ms": 1e9)"), "frame_length_ms");
  const auto fourth = [](const std::string& fields) {
    return R"({"class_name": "Gemma4AudioConverter", "config": {)" + fields + "}}";
  };
  refused(fourth(R"("num_mels": 8192)"), "'num_mels' must be an integer from 1 to 4096");
  refused(fourth(R"("per_bin_mean": [1.0])"), "expected 128 numbers, one for each mel frequency");
  refused(fourth(R"("max_frequency": 0.0)"), "expected more than min_frequency");
  refused(fourth(R"("mel_floor": 0.0)"), "expected a number above 0");
  refused(fourth(R"("num_fft_bins": 1)"), "expected 2 to 65536");
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
