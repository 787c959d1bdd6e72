// Moonshine reads samples. Long sounds are cut into windows, because its attention to them is quadratic.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/generate/open_decoder.h"
#include "attn/io/json_text.h"
#include "attn/open/folder_config.h"
#include "kinds.h"
#include "samples.h"
#include "window_decoder.h"

namespace attn::transcribe {
namespace {

constexpr Dim kWindowSeconds = 30;
constexpr double kLeastSeconds = 0.1;  // KerasHub's converter has the same limit

/// Returns the maximum number of tokens: that of generation_config.json, or of the preprocessor.
Dim capacity_of(const open::LoadedModel& loaded) {
  constexpr const char *kFile = "generation_config.json", *kKey = "max_length";
  const std::int64_t usual = generate::usual_length(loaded.model);
  const auto text = open::folder_config(loaded, kFile);
  if (!text) return usual;
  const std::string place = printable(*loaded.weights + "/" + kFile);
  const nlohmann::json json = io::parse_json(*text, place);
  if (!json.is_object() || !json.contains(kKey) || json[kKey].is_null()) return usual;
  if (!json[kKey].is_number_integer() || json[kKey].get<std::int64_t>() < 2)
    throw bad_input("{}: '{}' must be an integer > 1", place, kKey);
  return std::min(usual, json[kKey].get<std::int64_t>());
}

class Moonshine final : public Transcriber {
 public:
  Moonshine(const TranscriberParts& parts, open::AudioConverter converter)
      : parts_(parts),
        converter_(std::move(converter)),
        decoder_(parts.backend, parts.loaded, parts.execution, parts.listener, capacity_of(parts.loaded), 1, 1) {
    if (converter_.window()) throw bad_input("{}: the converter of sound is not Moonshine's", parts_.loaded.file);
    if (!parts_.tokenizer.specials().start) throw bad_input("{}: the tokenizer has no start token", parts_.loaded.file);
    const TranscribeOptions& options = parts_.options;
    if (options.language || options.translate || options.timestamps || options.words || options.num_beams != 1)
      throw bad_usage("a Moonshine model has no languages, tasks, timestamps, times of words and beams");
  }

  [[nodiscard]] Transcript transcribe(const io::Audio& audio, std::string_view name) override {
    const Tensor samples = io::resampled(audio.samples, audio.rate, converter_.rate());
    const double rate = converter_.rate();
    const Dim count = samples.shape()[0], window = kWindowSeconds * static_cast<Dim>(rate);
    Transcript out;
    out.seconds = static_cast<double>(audio.samples.shape()[0]) / static_cast<double>(audio.rate);
    if (static_cast<double>(count) < kLeastSeconds * rate)
      throw bad_input("{}: the sound has {:.3f} seconds; a Moonshine model needs {}", printable(name), out.seconds,
                      kLeastSeconds);
    for (Dim at = 0; at < count; at += window) {
      throw_if_stopped();
      // A rest that is too short joins the window before.
      const Dim rest = count - at - window;
      const bool last = rest > 0 && static_cast<double>(rest) < kLeastSeconds * rate;
      out.segments.push_back(segment(samples, at, last ? count : std::min(at + window, count)));
      out.text += out.text.empty() ? out.segments.back().text : " " + out.segments.back().text;
      if (last) break;
    }
    return out;
  }

 private:
  Segment segment(const Tensor& samples, Dim first, Dim last) {
    const tokenizers::SpecialIds& special = parts_.tokenizer.specials();
    Search how;
    how.prompt = {*special.start};
    how.max_length = decoder_.max_length(1, parts_.options.max_new_tokens);
    how.end = special.end.value_or(-1);
    const double rate = converter_.rate();
    Segment out{static_cast<double>(first) / rate, static_cast<double>(last) / rate, {}, {}};
    out.tokens = decoder_.decode(converter_.convert(samples_in(samples, first, last), parts_.execution), how);
    if (!out.tokens.empty() && out.tokens.back() == how.end) out.tokens.pop_back();
    out.text = text_of(parts_.tokenizer, out.tokens, std::numeric_limits<tokenizers::Id>::max());
    return out;
  }

  TranscriberParts parts_;
  open::AudioConverter converter_;
  WindowDecoder decoder_;
};

}  // namespace

std::unique_ptr<Transcriber> open_moonshine(const TranscriberParts& parts, open::AudioConverter converter) {
  return std::make_unique<Moonshine>(parts, std::move(converter));
}

}  // namespace attn::transcribe
