// A model's own conversion of sound to an input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/run/session.h"

namespace attn::open {

/// The lengths of sounds in prompts, in samples.
struct ClipLengths {
  Dim stride = 1;  ///< from one step of the features to the next
  Dim least = 1, most = 1;
  /// Whether KerasHub pads all sounds to the length of the longest one. Otherwise the steps of a sound are those that
  /// begin before its last stride.
  bool are_equal = false;
};

/// The features of a sound in a prompt.
struct AudioFeatures {
  Tensor features;  ///< (steps, width) float32
  Dim valid = 0;    ///< number of steps that are no padding; they are the first ones
};

/// Converts samples as KerasHub's AudioConverter does, to a log-mel spectrogram or normalized samples.
class AudioConverter {
 public:
  /// Takes the config of a converter: a serialized layer as JSON. `source` is its file and place, for messages. Throws
  /// Error (bad_input).
  AudioConverter(std::string source, std::string config);

  /// Returns the samples per second that the model expects.
  [[nodiscard]] std::uint32_t rate() const { return rate_; }
  /// Returns the number of samples to which a sound is cut or padded; nothing if its length stays.
  [[nodiscard]] std::optional<std::int64_t> window() const { return window_; }
  /// Returns the length and width of the features of a window; nothing without a window.
  [[nodiscard]] const std::optional<Shape>& features() const { return features_; }
  /// Returns the lengths of sounds in prompts; nothing for the converter of a model that transcribes.
  [[nodiscard]] const std::optional<ClipLengths>& clip_lengths() const { return clip_lengths_; }
  /// Returns the file and place of the config, for messages.
  [[nodiscard]] const std::string& source() const { return source_; }

  /// Returns the features (1, length, width) of samples (N) at rate(). Throws Error (bad_input), or no_memory before
  /// anything large is allocated.
  [[nodiscard]] Tensor convert(const Tensor& samples, const Execution& execution);

 private:
  void prepare(Dim samples, const Execution& execution);

  std::string source_, config_;
  std::uint32_t rate_ = 0;
  std::optional<std::int64_t> window_;
  std::optional<Shape> features_;
  std::optional<ClipLengths> clip_lengths_;
  Dim prepared_ = 0;
  std::optional<run::Session> session_;
};

/// Returns the converter of a task's preprocessor, of a preset's preprocessor.json or audio_converter.json, or of a
/// Hugging Face folder's preprocessor_config.json; nothing if there is none. Throws Error (bad_input).
[[nodiscard]] std::optional<AudioConverter> audio_converter_of(const LoadedModel& loaded);

/// Reads WAV and FLAC files, and converts them by the model's converter for prompts. Throws Error, also if the model
/// has no such converter, and for sounds that are too short or too long for it.
[[nodiscard]] std::vector<AudioFeatures> convert_audio(const LoadedModel& loaded, const std::vector<std::string>& files,
                                                       const Execution& execution, const Listener& listener);

}  // namespace attn::open
