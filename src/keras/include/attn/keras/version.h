// Versions of Keras, as files and options name them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::keras {

/// 100·major + minor: 3.6 is 306.
using Version = int;
/// The versions of Keras 3 whose configs can be written.
inline constexpr Version kOldest = 300, kNewest = 315;

/// The first Keras 3 that has something. It has no default: a record without it does not compile.
struct Since {
  constexpr Since(Version first) : version(first) {}  // NOLINT: stands for a version
  Version version;
};

/// "3.15.1" as 315; nothing for what is no version.
[[nodiscard]] std::optional<Version> version_of(std::string_view text);
/// 315 as "3.15".
[[nodiscard]] std::string version_text(Version version);

}  // namespace attn::keras
