// Samples of WAV and FLAC files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attn/base/tensor.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// The maximum number of samples of one channel: 93 minutes at 48 kHz.
inline constexpr std::int64_t kMaxAudioSamples = std::int64_t{1} << 28;
/// The maximum size of an audio file in bytes.
inline constexpr std::int64_t kMaxAudioBytes = std::int64_t{1} << 30;
/// The rates, in samples per second, and the number of channels that are accepted.
inline constexpr std::uint32_t kLeastAudioRate = 1'000, kMostAudioRate = 384'000, kMostAudioChannels = 64;

/// A sound with one channel.
struct Audio {
  Tensor samples;          ///< (N) float32, from -1 to 1 for files of integers
  std::uint32_t rate = 0;  ///< samples per second
};

/// Returns the version of the library that decodes sound: "libFLAC 1.4.2". Throws Error (bad_input) if attn-audio
/// cannot be run.
[[nodiscard]] std::string audio_version();

/// Returns the sound of a WAV or FLAC file, the mean of its channels. A process of its own decodes the file. `name` is
/// for messages. Throws Error (bad_input) for other, damaged and truncated files, for samples that are NaN or infinite,
/// and for sounds without samples or above the limits.
[[nodiscard]] Audio decode_audio(const Bytes& file, std::string_view name);

/// Reads and decodes the file at `path`. Throws as read_file and decode_audio do.
[[nodiscard]] Audio read_audio(const std::string& path);

/// Returns samples (N) at another rate. Each result is the sum of the samples around it, weighted by a sinc function of
/// 32 zero crossings on each side within a Kaiser window of β = 10. The cutoff is 0.95 of the lower Nyquist frequency;
/// aliases are 100 dB below the signal.
[[nodiscard]] Tensor resampled(const Tensor& samples, std::uint32_t from, std::uint32_t to);

}  // namespace attn::io
