#include "attn/open/audio_converter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/audio.h"
#include "attn/io/json_text.h"
#include "attn/open/folder_config.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "preset_converter.h"

namespace attn::open {
namespace {

constexpr const char *kWhisper = "WhisperAudioConverter", *kMoonshine = "MoonshineAudioConverter",
                     *kGemma3n = "Gemma3nAudioConverter", *kGemma4 = "Gemma4AudioConverter",
                     *kFolderFile = "preprocessor_config.json";
const Silent kQuiet{};

/// The limits of the numbers of a converter, under whatever key.
struct Range {
  std::int64_t otherwise, least, most;
};
constexpr Range kMels{80, 1, 1 << 12}, kBins{400, 2, 1 << 16}, kStride{160, 1, 1 << 26}, kSeconds{30, 1, 3600},
    kRate{16000, io::kLeastAudioRate, io::kMostAudioRate};

/// Returns an integer of an object, or its default.
std::int64_t integer_in(const nlohmann::json& object, const char* key, const Range& range, const std::string& place) {
  if (!object.contains(key) || object[key].is_null()) return range.otherwise;
  const nlohmann::json& value = object[key];
  const bool fits = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() >= static_cast<std::uint64_t>(range.least) &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(range.most);
  if (!fits) throw bad_input("{}: '{}' must be an integer from {} to {}", place, key, range.least, range.most);
  return value.get<std::int64_t>();
}

/// Returns the number of samples of a duration in milliseconds.
Dim samples_in(const nlohmann::json& object, const char* key, std::int64_t rate, const std::string& place) {
  constexpr double kMost = 1 << 14;
  const double count = object.contains(key) && object[key].is_number()
                           ? std::nearbyint(static_cast<double>(rate) * object[key].get<double>() / 1000.0)
                           : 0.0;
  if (!(count >= 1.0 && count <= kMost))
    throw bad_input("{}: '{}' must be a duration of 1 to {} samples, in milliseconds", place, key, kMost);
  return static_cast<Dim>(count);
}

/// Returns the lengths of sounds for Gemma 3n's converter, which reads 480,000 samples at any rate.
ClipLengths gemma3n_lengths(const nlohmann::json& config, std::int64_t rate, const std::string& place) {
  constexpr Dim kMostOfSound = 480'000, kMultiple = 128;
  const Dim frame = samples_in(config, "frame_length_ms", rate, place);
  return {samples_in(config, "hop_length_ms", rate, place), (frame - 1) / kMultiple * kMultiple + 1, kMostOfSound,
          true};
}

/// Returns KerasHub's converter for a feature extractor of transformers.
nlohmann::json converted(const nlohmann::json& extractor, const std::string& place) {
  if (!extractor.is_object() || !extractor.contains("feature_extractor_type"))
    throw bad_input("{}: expected an object with a 'feature_extractor_type'", place);
  const nlohmann::json& type = extractor["feature_extractor_type"];
  const auto of = [&](const char* key, const Range& range) { return integer_in(extractor, key, range, place); };
  const auto object = [](const char* name, nlohmann::json config) {
    return nlohmann::json{{"module", "keras_hub.layers"},
                          {"class_name", name},
                          {"config", std::move(config)},
                          {"registered_name", std::string("keras_hub>") + name}};
  };
  if (type == "WhisperFeatureExtractor")
    return object(kWhisper, {{"num_mels", of("feature_size", kMels)},
                             {"num_fft_bins", of("n_fft", kBins)},
                             {"stride", of("hop_length", kStride)},
                             {"sampling_rate", of("sampling_rate", kRate)},
                             {"max_audio_length", of("chunk_length", kSeconds)}});
  if (type == "Wav2Vec2FeatureExtractor")
    return object(kMoonshine,
                  {{"sampling_rate", of("sampling_rate", kRate)},
                   {"do_normalize", extractor.contains("do_normalize") && extractor["do_normalize"] == true}});
  throw bad_input("{}: the feature extractor {} is not supported; expected that of Whisper or Wav2Vec2", place,
                  printable(type.dump()));
}

}  // namespace

AudioConverter::AudioConverter(std::string source, std::string config)
    : source_(std::move(source)), config_(std::move(config)) {
  const std::string place = printable(source_);
  const nlohmann::json json = io::parse_json(config_, place);
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string() ||
      !json.contains("config") || !json["config"].is_object())
    throw bad_input("{}: expected an object with 'class_name' and 'config'", place);
  const auto name = json["class_name"].get<std::string>();
  if (name != kWhisper && name != kMoonshine && name != kGemma3n && name != kGemma4)
    throw bad_input("{}: expected the AudioConverter of Whisper, Moonshine, Gemma 3n or Gemma 4, got '{}'", place,
                    printable(name));
  const nlohmann::json& fields = json["config"];
  const std::int64_t rate = integer_in(fields, "sampling_rate", kRate, place);
  rate_ = static_cast<std::uint32_t>(rate);
  if (name == kGemma3n) clip_lengths_ = gemma3n_lengths(fields, rate, place);
  if (name != kWhisper && name != kGemma4) return;
  window_ = integer_in(fields, "max_audio_length", kSeconds, place) * rate;
  const std::int64_t stride = integer_in(fields, "stride", kStride, place);
  if (stride > *window_)
    throw bad_input("{}: {} samples from frame to frame are more than the {} of a window", place, stride, *window_);
  const Range mels{name == kWhisper ? kMels.otherwise : std::int64_t{128}, kMels.least, kMels.most};
  features_ = Shape{*window_ / stride, integer_in(fields, "num_mels", mels, place)};
  if (name == kGemma4) clip_lengths_ = ClipLengths{stride, stride, *window_, false};
}

void AudioConverter::prepare(Dim samples, const Execution& execution) {
  if (session_ && prepared_ == samples) return;
  session_.reset();
  keras::ReadOptions options;
  options.input_shape = Shape{samples};
  const LoadedModel layer = load_model(ModelText{source_, config_, options, {}}, ReadingOptions{}, kQuiet);
  keras::LowerOptions lower;
  lower.batch = 1;
  graph::Graph graph = layer.model.lower(lower);
  Execution here;
  here.threads = execution.threads;
  here.memory_limit = execution.memory_limit;
  const auto backend = open_backend(here.device, here.backend, kQuiet);
  require_memory(layer, lower, graph, *backend, here);
  session_.emplace(prepare_session(*backend, std::move(graph), {}, here.compile_options(), kQuiet));
  prepared_ = samples;
}

Tensor AudioConverter::convert(const Tensor& samples, const Execution& execution) {
  const Dim given = samples.shape()[0];
  const Dim length = window_.value_or(given);
  prepare(length, execution);
  Tensor input(DType::float32, {1, length});
  std::memset(input.data(), 0, static_cast<std::size_t>(input.bytes()));
  std::memcpy(input.data(), samples.data(), static_cast<std::size_t>(std::min(given, length)) * sizeof(float));
  session_->run(std::vector<Tensor>{input});
  const Tensor result = session_->outputs().front().tensor.cast(DType::float32);  // valid until the next pass
  Tensor out(DType::float32, result.shape());
  std::memcpy(out.data(), result.data(), static_cast<std::size_t>(result.bytes()));
  return out;
}

std::optional<AudioConverter> audio_converter_of(const LoadedModel& loaded) {
  if (auto found = converter_of(loaded, "audio_converter"))
    return AudioConverter(std::move(found->source), std::move(found->config));
  const auto text = folder_config(loaded, kFolderFile);
  if (!text) return std::nullopt;
  const std::string source = *loaded.weights + "/" + kFolderFile, place = printable(source);
  return AudioConverter(source, converted(io::parse_json(*text, place), place).dump());
}

namespace {

/// Returns the samples of files at the converter's rate.
std::vector<Tensor> read_clips(const AudioConverter& converter, const std::vector<std::string>& files) {
  const ClipLengths& lengths = *converter.clip_lengths();
  const auto seconds = [&](Dim samples) { return static_cast<double>(samples) / converter.rate(); };
  std::vector<Tensor> out;
  for (const std::string& file : files) {
    const io::Audio audio = io::read_audio(file);
    out.push_back(io::resampled(audio.samples, audio.rate, converter.rate()));
    const Dim count = out.back().shape()[0];
    if (count > lengths.most)
      throw bad_input("{}: the sound has {:.2f} s, and the model reads at most {:.2f} s: cut it", printable(file),
                      seconds(count), seconds(lengths.most));
    if (count < lengths.least)
      throw bad_input("{}: the sound has {:.4f} s, and the model needs at least {:.4f} s: give a longer one",
                      printable(file), seconds(count), seconds(lengths.least));
  }
  return out;
}

/// Returns samples (N), padded with zeros.
Tensor padded_to(const Tensor& samples, Dim count) {
  Tensor out(DType::float32, {count});
  std::memcpy(out.data(), samples.data(), static_cast<std::size_t>(samples.bytes()));
  return out;
}

/// Returns the first steps of features (1,steps,width).
Tensor first_steps(const Tensor& features, Dim steps) {
  Tensor out(DType::float32, {steps, features.shape()[2]});
  std::memcpy(out.data(), features.data(), static_cast<std::size_t>(out.bytes()));
  return out;
}

}  // namespace

std::vector<AudioFeatures> convert_audio(const LoadedModel& loaded, const std::vector<std::string>& files,
                                         const Execution& execution, const Listener& listener) {
  std::optional<AudioConverter> converter = audio_converter_of(loaded);
  if (!converter || !converter->clip_lengths())
    throw bad_input(
        "{}: the model has no AudioConverter for prompts, which `audio` needs; a preset has one in "
        "audio_converter.json or preprocessor.json",
        loaded.file);
  const std::unique_ptr<Work> work = listener.begin("reading sounds", static_cast<double>(files.size()));
  const ClipLengths& lengths = *converter->clip_lengths();
  std::vector<Tensor> clips = read_clips(*converter, files);
  Dim longest = 0;
  for (const Tensor& clip : clips) longest = std::max(longest, clip.shape()[0]);
  std::vector<AudioFeatures> out;
  for (const Tensor& clip : clips) {
    const Tensor features = converter->convert(lengths.are_equal ? padded_to(clip, longest) : clip, execution);
    const Dim steps = features.shape()[1];
    if (lengths.are_equal) {
      const Dim begun = (longest + lengths.stride - 1) / lengths.stride;
      out.push_back({first_steps(features, steps), std::min(steps, begun)});
    } else {
      const Dim valid = std::min(steps, clip.shape()[0] / lengths.stride);
      out.push_back({first_steps(features, valid), valid});
    }
    work->advance();
  }
  return out;
}

}  // namespace attn::open
