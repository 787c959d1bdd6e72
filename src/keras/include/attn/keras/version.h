// Versions of Keras, in files and options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::keras {

/// A Keras version as 100·major + minor: 3.6 is 306.
using Version = int;
/// The oldest and the newest Keras 3 version whose configs can be written.
inline constexpr Version kOldest = 300, kNewest = 315;

/// The first Keras 3 version that has a class or argument. The number has no default: a record without it does not
/// compile.
struct Since {
  constexpr Since(Version first) : version(first) {}  // NOLINT: stands for a version
  Version version;
};

/// Parses "3.15.1" as 315; empty for an invalid version.
[[nodiscard]] std::optional<Version> version_of(std::string_view text);
/// Formats 315 as "3.15".
[[nodiscard]] std::string version_text(Version version);

}  // namespace attn::keras
