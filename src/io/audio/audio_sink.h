// The samples that a decoder makes, mixed to one channel. Included only by attn-audio.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "audio/audio_records.h"
#include "companion/child.h"

namespace attn::io {

/// Sends the rate of a sound and its samples.
class AudioSink {
 public:
  explicit AudioSink(Channel& out) : out_(out) {}

  /// Throws FileRefused if the format is not accepted.
  void begin(std::uint32_t rate, std::uint32_t channels) {
    if (channels == 0 || channels > kMostAudioChannels)
      throw FileRefused("the sound has " + std::to_string(channels) + " channels; expected 1 to " +
                        std::to_string(kMostAudioChannels));
    if (rate < kLeastAudioRate || rate > kMostAudioRate)
      throw FileRefused("the sound has " + std::to_string(rate) + " samples per second; expected " +
                        std::to_string(kLeastAudioRate) + " to " + std::to_string(kMostAudioRate));
    channels_ = channels;
    out_.put_u8(static_cast<std::uint8_t>(AudioTag::rate));
    out_.put_u32(rate);
  }
  /// Adds one sample of each channel.
  void frame(std::span<const double> samples) {
    double sum = 0.0;
    for (const double sample : samples) sum += sample;
    const auto mixed = static_cast<float>(sum / static_cast<double>(channels_));
    if (!std::isfinite(mixed))
      throw FileRefused("sample " + std::to_string(count_) + " is NaN or too large for a float");
    if (count_ == kMaxAudioSamples)
      throw FileRefused("the sound has more than " + std::to_string(kMaxAudioSamples) +
                        " samples; split it into several files");
    ++count_;
    kept_.push_back(mixed);
    if (kept_.size() == kMostInRecord) send();
  }
  /// Throws FileRefused if there were no samples.
  void end() {
    if (count_ == 0) throw FileRefused("the sound has no samples");
    send();
  }

 private:
  void send() {
    if (kept_.empty()) return;
    out_.put_u8(static_cast<std::uint8_t>(AudioTag::samples));
    out_.put_u32(static_cast<std::uint32_t>(kept_.size()));
    out_.put_bytes(std::as_bytes(std::span(kept_)));
    kept_.clear();
  }

  Channel& out_;
  std::uint32_t channels_ = 0;
  std::int64_t count_ = 0;
  std::vector<float> kept_;  // not yet sent
};

}  // namespace attn::io
