// The records that attn and attn-hdf5 exchange.
#pragma once

#include <cstdint>

#include "companion/channel.h"

namespace attn::io {

/// The tag of a record. Texts are a 32-bit length and bytes. An attribute belongs to the group or dataset before it.
/// The records are:
///
///   `group`      path.
///   `dataset`    path, dtype (8 bits), rank (8), dims (64 each), storage (8), then
///                in_file: offset (64), or here: as many bytes as the shape takes.
///   `attribute`  name, is_list (8), count (32), texts.
///   `error`      message; the last record.
///   `end`        the last record.
enum class Hdf5Tag : std::uint8_t { group = 'G', dataset = 'D', attribute = 'A', error = kErrorTag, end = kEndTag };
enum class Hdf5Storage : std::uint8_t { in_file, here };

inline constexpr int kMaxHdf5Depth = 64;
inline constexpr std::int64_t kMaxHdf5Objects = 1'000'000;
/// The maximum size in bytes of all names and strings of a file together.
inline constexpr std::int64_t kMaxHdf5Text = kMaxChannelText;

/// The processor time that attn-hdf5 may use: this many milliseconds to read or to write a file, plus one second per
/// kHdf5Slowest bytes of the file.
inline constexpr std::int64_t kHdf5Milliseconds = 700;
inline constexpr std::int64_t kHdf5WriteMilliseconds = 10'000;
inline constexpr std::int64_t kHdf5Slowest = std::int64_t{4} << 20;

}  // namespace attn::io
