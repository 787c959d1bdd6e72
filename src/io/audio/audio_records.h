// The records that attn-audio sends.
#pragma once

#include <cstdint>

#include "attn/io/audio.h"
#include "companion/channel.h"

namespace attn::io {

/// The tag of a record. The records are:
///
///   `rate`     samples per second (32 bits); the first record.
///   `samples`  count (32 bits, 1 to kMostInRecord), then as many float32.
///   `error`    message; the last record.
///   `end`      the last record, after all samples.
enum class AudioTag : std::uint8_t { rate = 'R', samples = 'S', error = kErrorTag, end = kEndTag };

inline constexpr std::uint32_t kMostInRecord = std::uint32_t{1} << 16;

/// The processor time in milliseconds that attn-audio may use.
inline constexpr std::int64_t kAudioMilliseconds = 60'000;

}  // namespace attn::io
